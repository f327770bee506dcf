/** A client that works during an attack: how long its answers take, and whether they are correct. */
import { readFileSync } from 'node:fs'
import { chat, chatPath } from '../clients/client-stack.ts'
import type { Entrance } from '../clients/entrance.ts'

export type Experience = {
  readonly answers: number
  /** Answers that were wrong, refused or lost. */
  readonly failures: readonly string[]
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Sends requests until `isOver`, and at least this many. */
export async function askOn(
  entrance: Entrance,
  atLeast: number,
  isOver: () => boolean,
): Promise<Experience> {
  const times: number[] = []
  const failures: string[] = []
  for (let turn = 0; turn < atLeast || !isOver(); turn++) {
    const words = `bystander ${turn}`
    const started = performance.now()
    try {
      const { status, json } = await entrance.ask(chatPath, chat(words))
      const text = json?.choices?.[0]?.message?.content
      if (status !== 200 || !String(text).includes(words)) failures.push(`status ${status}`)
    } catch (error) {
      failures.push(error instanceof Error ? error.message : 'lost')
    }
    times.push(performance.now() - started)
    await Bun.sleep(10)
  }
  times.sort((a, b) => a - b)
  const share = (part: number) =>
    times[Math.min(times.length - 1, Math.floor(times.length * part))]!
  return { answers: times.length, failures, p50Ms: share(0.5), p99Ms: share(0.99) }
}

/** Resident memory of a process in MiB. */
export function residentMiB(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1024
}
