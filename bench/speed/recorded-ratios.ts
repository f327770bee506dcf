/** How much dearer our stages are than the bare primitives on the same bytes: recorded, and compared. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Effort, Stage } from './least-us.ts'
import { measureStages, type Stages } from './stage-costs.ts'

export type Ratios = { readonly chat: number; readonly chunk: number; readonly prompt: number }

const path = join(import.meta.dir, 'recorded-ratios.json')
const effort: Effort = { tries: 40, calls: 250 }

/** What sockets cost is the kernel's, and no part of a comparison with ciphers. */
export function ratiosOf({ chat, chunk, prompt, bare }: Stages): Ratios {
  const own = (stages: readonly Stage[]) =>
    stages.reduce((sum, { name, us }) => sum + (name.startsWith('sockets') ? 0 : us), 0)
  return {
    chat: own(chat) / bare.chat,
    chunk: own(chunk) / bare.chunk,
    prompt: own(prompt) / bare.prompt,
  }
}

export const readRecorded = () => JSON.parse(readFileSync(path, 'utf8')) as Ratios

export const measureRatios = async () => ratiosOf(await measureStages(effort))

/** The best of several: what disturbs the machine makes a ratio worse at times, never better for long. */
export async function recordRatios(): Promise<Ratios> {
  const seen = [await measureRatios(), await measureRatios(), await measureRatios()]
  const middle = (part: keyof Ratios) => {
    const sorted = seen.map((ratios) => ratios[part]).toSorted((a, b) => a - b)
    return Math.round((sorted[1] ?? 0) * 100) / 100
  }
  const ratios = { chat: middle('chat'), chunk: middle('chunk'), prompt: middle('prompt') }
  writeFileSync(path, `${JSON.stringify(ratios, null, 2)}\n`)
  return ratios
}
