/** Runs one lasting attack in a separate process and reports its effect on others and on memory. */
import { join } from 'node:path'
import type { ClientStack } from '../clients/client-stack.ts'
import { Entrance } from '../clients/entrance.ts'
import type { Attack } from './attacks.ts'
import { askOn, type Experience, residentMiB } from './bystander.ts'
import type { Target } from './target.ts'

export type Endurance = {
  readonly attack: string
  readonly target: string
  readonly before: Experience
  readonly during: Experience
  readonly grownMiB: number
  /** Counts of what the attacker got. */
  readonly noted: Readonly<Record<string, number>>
  /** Why the attack was not withstood; empty if it was. */
  readonly problems: readonly string[]
}

export type EnduranceLimits = {
  readonly scale: number
  readonly seconds: number
  readonly baselineAnswers: number
  /** The part of a p99 that the machine itself causes. */
  readonly floorMs: number
  readonly grownMiB: number
}

/** The budget for bodies is 512 MiB at the proxy; a runtime that returns memory late needs half as much again. */
export const maxGrownMiB = 800

export async function withstand(
  place: ClientStack,
  attack: Attack,
  target: Target,
  limits: EnduranceLimits,
): Promise<Endurance> {
  const entrance = target.name === 'proxyless' ? await ownEntrance(place) : place.proxy
  const before = await askOn(entrance, limits.baselineAnswers, () => true)
  const pid = attack.harms === 'worker' ? target.workerPid : target.pid
  const startMiB = residentMiB(pid)
  let mostMiB = startMiB
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, 'attack-main.ts'), attack.name, `${limits.scale}`],
    { stdin: Buffer.from(JSON.stringify(target)), stdout: 'pipe', stderr: 'inherit' },
  )
  let told = ''
  const output = (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of child.stdout) told += decoder.decode(chunk, { stream: true })
    return told
  })()
  const sampling = setInterval(() => {
    mostMiB = Math.max(mostMiB, residentMiB(pid))
  }, 100)
  const endAt = Date.now() + limits.seconds * 1000
  // On a busy machine it takes seconds until an attacker has started.
  const hasBegun = () => told.includes('going') || Date.now() > endAt + 20_000
  const during = await askOn(
    entrance,
    limits.baselineAnswers / 2,
    () => Date.now() > endAt && hasBegun(),
  )
  clearInterval(sampling)
  child.kill('SIGTERM')
  const noted = readNotes(await output)
  await child.exited
  const grownMiB = mostMiB - startMiB
  const problems: string[] = []
  if (during.failures.length > 0) problems.push(`others failed: ${during.failures[0]}`)
  if (during.p99Ms > 2 * before.p99Ms + limits.floorMs) {
    problems.push(`p99 of others rose from ${ms(before.p99Ms)} to ${ms(during.p99Ms)}`)
  }
  if (grownMiB > limits.grownMiB) problems.push(`memory grew by ${Math.round(grownMiB)} MiB`)
  if (Object.keys(noted).length === 0) problems.push('the attack did not start')
  return { attack: attack.name, target: target.name, before, during, grownMiB, noted, problems }
}

/** Other clients have their own keys. */
async function ownEntrance(place: ClientStack): Promise<Entrance> {
  const apiKey = await place.createKey('bystander')
  return new Entrance('proxyless', () => ({ ...place.proxyless.target, apiKey }))
}

export const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`

function readNotes(output: string): Record<string, number> {
  const last = output.trim().split('\n').at(-1) ?? ''
  return last.startsWith('{') ? JSON.parse(last) : {}
}
