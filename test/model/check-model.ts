/** Runs one model through Spin: generates the verifier, compiles it, searches every state. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Model, type Mutant, properties, reachability } from './mutants.ts'

export type Search = {
  readonly violated: boolean
  readonly states: number
  readonly transitions: number
  readonly depth: number
}

/** Missing tools; empty if models can be checked. */
export function missingTools(): string[] {
  return ['spin', 'cc'].filter((tool) => Bun.which(tool) === null)
}

/** `only` is the number of a property, or 0 for all. Throws if the search was not complete. */
export async function checkModel(
  model: Model,
  only: number,
  without: readonly string[] = [],
): Promise<Search> {
  return inFolder(async (folder) => {
    await build(folder, model, only, without, [])
    return readSearch(await run(folder, ['./pan', '-m100000']))
  })
}

/** What the model prints on the shortest path to a violation. */
export async function findTrail(
  model: Model,
  only: number,
  without: readonly string[],
): Promise<string> {
  return inFolder(async (folder) => {
    await build(folder, model, only, without, ['-DBFS'])
    const search = readSearch(await run(folder, ['./pan']))
    if (!search.violated) throw new Error('there is no way to a violation')
    const trail = ['-k', `${model}.pml.trail`]
    return run(folder, ['spin', ...trail, ...definitions(only, without), sourceOf(model)])
  })
}

/** What the model prints in a run whose choices are drawn. */
export const simulate = (model: Model, seed: number, maxSteps: number): Promise<string> =>
  inFolder((folder) => run(folder, ['spin', `-n${seed}`, `-u${maxSteps}`, sourceOf(model)]))

const sourceOf = (model: Model) => join(import.meta.dir, `${model}.pml`)
const definitions = (only: number, without: readonly string[]) => [
  `-DONLY=${only}`,
  ...without.map((name) => `-D${name}`),
]

async function build(
  folder: string,
  model: Model,
  only: number,
  without: readonly string[],
  flags: readonly string[],
): Promise<void> {
  await run(folder, ['spin', ...definitions(only, without), '-a', sourceOf(model)])
  const limits = ['-DSAFETY', '-DMEMLIM=2048', ...flags]
  await run(folder, ['cc', '-w', '-O1', ...limits, '-o', 'pan', 'pan.c'])
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-model-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The model as it is: every property at once, over every state. */
export const checkWhole = (model: Model): Promise<Search> => checkModel(model, 0)

/** Without this, a model in which nothing can happen would pass. */
export const checkReachable = (model: Model): Promise<Search> => checkModel(model, reachability)

export const checkMutant = (mutant: Mutant): Promise<Search> =>
  checkModel(
    mutant.model,
    mutant.breaks === 'none' ? 0 : properties[mutant.breaks].number,
    mutant.without,
  )

export const behavesAsExpected = (mutant: Mutant, search: Search): boolean =>
  search.violated === (mutant.breaks !== 'none')

async function run(cwd: string, command: string[]): Promise<string> {
  const child = Bun.spawn(command, { cwd, stdout: 'pipe', stderr: 'pipe', timeout: 300_000 })
  const [out, problems, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (code !== 0) throw new Error(`${command[0]} failed: ${problems}${out.slice(-2000)}`)
  return out
}

function readSearch(out: string): Search {
  const number = (pattern: RegExp): number => {
    const found = pattern.exec(out)?.[1]
    if (found === undefined) throw new Error(`no result in what the verifier said: ${out}`)
    return Number(found)
  }
  const violated = number(/errors: (\d+)/) > 0
  const incomplete = out.includes('Search not completed') || out.includes('max search depth')
  if (!violated && incomplete) throw new Error('the search was not complete')
  return {
    violated,
    states: number(/(\d+) states, stored/),
    transitions: number(/(\d+) transitions/),
    depth: number(/depth reached (\d+)/),
  }
}
