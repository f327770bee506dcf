/** Traces of the models: what the attacker does in a run, step by step, as the models print it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findTrail, simulate } from './check-model.ts'
import { type Mutant, mutants, properties, reachability } from './mutants.ts'

/** One line of a trace: what happens, and its numbers in the order in which the model prints them. */
export type Step = readonly [what: string, ...numbers: number[]]

export type Traces = {
  /** The shortest exchange that comes to its end. */
  readonly exchange: readonly Step[]
  /** Drawn runs of the replay guard. */
  readonly guard: readonly (readonly Step[])[]
  /** The shortest attack on each mutant of the session. */
  readonly attacks: readonly { readonly means: string; readonly steps: readonly Step[] }[]
}

const path = join(import.meta.dir, 'traces.txt')

/** Spin found these; they are kept so that the code is tested where Spin is not installed. */
export function readTraces(): Traces {
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  const all = lines.map((line) => {
    const [name = '', steps = ''] = line.split(': ')
    return { name, steps: steps.split(', ').flatMap(parseStep) }
  })
  const named = (prefix: string) => all.filter(({ name }) => name.startsWith(prefix))
  return {
    exchange: named('exchange')[0]?.steps ?? [],
    guard: named('guard').map(({ steps }) => steps),
    attacks: named(attack).map(({ name, steps }) => ({ means: name.slice(attack.length), steps })),
  }
}

const attack = 'attack where '

export const brokenSessions: readonly Mutant[] = mutants.filter(
  ({ model, breaks }) => model === 'session' && breaks !== 'none',
)

export async function findAttack({ breaks, without }: Mutant): Promise<Step[]> {
  const only = breaks === 'none' ? 0 : properties[breaks].number
  return parseTrace(await findTrail('session', only, without))
}

const guardRuns = 24

export const drawGuardRun = async (seed: number): Promise<Step[]> =>
  parseTrace(await simulate('replay-guard', seed, 500))

export async function writeTraces(): Promise<void> {
  const guard: Step[][] = []
  for (let seed = 1; seed <= guardRuns; seed++) guard.push(await drawGuardRun(seed))
  const exchange = parseTrace(await findTrail('session', reachability, []))
  const attacks: { means: string; steps: Step[] }[] = []
  for (const mutant of brokenSessions) {
    attacks.push({ means: mutant.means, steps: await findAttack(mutant) })
  }
  await Bun.write(path, formatTraces({ exchange, guard, attacks }))
}

/** A line for each trace: a change of one is a change of one line. */
function formatTraces({ exchange, guard, attacks }: Traces): string {
  const line = (name: string, steps: readonly Step[]) =>
    `${name}: ${steps.map((step) => step.join(' ')).join(', ')}\n`
  return [
    line('exchange', exchange),
    ...attacks.map(({ means, steps }) => line(`${attack}${means}`, steps)),
    ...guard.map((steps, index) => line(`guard ${index + 1}`, steps)),
  ].join('')
}

const parseTrace = (printed: string): Step[] => printed.split('\n').flatMap(parseStep)

/** What Spin itself says beside the model is no step. */
function parseStep(text: string): Step[] {
  const found = /^([a-z]+)((?: \d+)*)$/.exec(text.trim())
  if (found === null) return []
  const numbers = (found[2] ?? '').split(' ').filter(Boolean).map(Number)
  return [[found[1] ?? '', ...numbers]]
}
