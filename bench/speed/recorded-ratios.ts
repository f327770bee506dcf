/** How much more our stages cost than the bare primitives on the same bytes: recorded, and compared. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Effort, Stage } from './least-us.ts'
import { measureParts } from './part-stages.ts'
import { measureStages } from './stage-costs.ts'

/** Paths of a request through the proxy, and a small chat through the other two programs. */
const paths = ['chat', 'chunk', 'prompt', 'worker', 'gateway'] as const
type Path = (typeof paths)[number]

/** `whole` is a small chat through all three programs. */
export type Ratios = Readonly<Record<Path | 'whole', number>>

type Costs = {
  readonly stages: Readonly<Record<Path, readonly Stage[]>>
  readonly bare: Readonly<Record<Path, number>>
}

const path = join(import.meta.dir, 'recorded-ratios.json')
const effort: Effort = { tries: 40, calls: 250 }

async function measureCosts(): Promise<Costs> {
  const { bare, ...stages } = await measureStages(effort)
  const { worker, gateway } = await measureParts(effort)
  return {
    stages: { ...stages, worker, gateway },
    bare: { ...bare, worker: bare.chat, gateway: bare.chat },
  }
}

/** The cost of sockets is the kernel's, and not part of a comparison with ciphers. */
function ratiosOf({ stages, bare }: Costs): Ratios {
  const ratio = (path: Path) =>
    stages[path].reduce((sum, { name, us }) => sum + (name.startsWith('sockets') ? 0 : us), 0) /
    bare[path]
  const each = mapPaths(ratio)
  return { ...each, whole: each.chat + each.worker + each.gateway }
}

export const readRecorded = () => JSON.parse(readFileSync(path, 'utf8')) as Ratios

/** Measures until `isEnough` says so of the least costs seen so far, at least twice and at most `tries` times. */
export async function leastRatios(
  tries: number,
  isEnough: (ratios: Ratios) => boolean,
): Promise<Ratios> {
  let least = leastOf(await measureCosts(), await measureCosts())
  for (let done = 2; done < tries && !isEnough(ratiosOf(least)); done++) {
    least = leastOf(least, await measureCosts())
  }
  return ratiosOf(least)
}

/** The cheaper result of each stage and of the bare primitives, so that a disturbance changes no ratio. */
function leastOf(one: Costs, other: Costs): Costs {
  const cheaper = (path: Path) =>
    one.stages[path].map((stage, at) => ({
      ...stage,
      us: Math.min(stage.us, other.stages[path][at]?.us ?? stage.us),
    }))
  return {
    stages: mapPaths(cheaper),
    bare: mapPaths((path) => Math.min(one.bare[path], other.bare[path])),
  }
}

/** The median of three: a disturbance of the machine affects only some of them. */
export async function recordRatios(): Promise<Ratios> {
  const seen: Ratios[] = []
  for (let round = 0; round < 3; round++) seen.push(ratiosOf(await measureCosts()))
  const middle = (part: keyof Ratios) => {
    const sorted = seen.map((ratios) => ratios[part]).toSorted((a, b) => a - b)
    return Math.round((sorted[1] ?? 0) * 100) / 100
  }
  const ratios = { ...mapPaths(middle), whole: middle('whole') }
  writeFileSync(path, `${JSON.stringify(ratios, null, 2)}\n`)
  return ratios
}

const mapPaths = <Value>(read: (path: Path) => Value) =>
  Object.fromEntries(paths.map((path) => [path, read(path)])) as Record<Path, Value>
