/**
 * What a change costs: `npm run task -- bench:compare --base FOLDER [--only LOADS] [--target NAME] [--turns N] [--seconds N]`.
 *
 * `FOLDER` is another checkout of this project with its packages installed, such as a worktree of the
 * commit before the change. Both are started side by side and get the same load in turns, so that
 * a slow minute of the machine affects both alike.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseTaskArguments, refuseArguments } from '../scripts/task-arguments.ts'
import { cleanUpOnSignal } from '../test/clean-up.ts'
import { median } from './median.ts'
import { canMeasure, root } from './speed/child.ts'
import { countedUs, measure } from './speed/measure.ts'
import { type Target, targetNames } from './speed/target.ts'
import { type Workload, workloads } from './speed/workloads.ts'

const { values: options } = parseTaskArguments({
  options: {
    base: { type: 'string' },
    only: { type: 'string', default: 'chat-32' },
    target: { type: 'string', default: 'worker' },
    turns: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '1' },
  },
})
const base = resolve(options.base ?? refuseArguments('name the other checkout with --base'))
for (const needed of ['bench/speed/rig.ts', 'node_modules'])
  if (!existsSync(join(base, needed))) refuseArguments(`${base} has no ${needed}`)
const target = knownName(options.target, targetNames)
const loads = options.only.split(',').map((id) => {
  const known = workloads.map((workload) => workload.id)
  return workloads.find((one) => one.id === knownName(id, known)) as Workload
})
const [turns, seconds] = [Number(options.turns), Number(options.seconds)]
if (!(turns >= 2 && seconds > 0)) refuseArguments('at least 2 turns of more than 0 seconds')
const warmSeconds = 4
const warmTurns = 3

type Side = { readonly name: 'base' | 'here'; readonly target: Target }
type Costs = {
  readonly cpuUs: number
  readonly firstByteUs: number
  readonly p50Us: number
  readonly p99Us: number
}

if (canMeasure) await run()
else console.log('skipped: processor time is read from /proc, which is not there')

async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-compare-'))
  const stops: (() => Promise<void>)[] = []
  const stop = async () => {
    for (const each of stops.splice(0)) await each()
  }
  cleanUpOnSignal(stop)
  try {
    const sides = [
      await start('base', base, folder, stops),
      await start('here', root, folder, stops),
    ]
    for (const load of loads) await compare(load, sides as [Side, Side])
  } finally {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Each checkout starts its own programs with its own rig. */
async function start(
  name: Side['name'],
  checkout: string,
  folder: string,
  stops: (() => Promise<void>)[],
): Promise<Side> {
  type Rig = typeof import('./speed/rig.ts')
  type Children = typeof import('./speed/child.ts')
  const { stopAll } = (await import(join(checkout, 'bench/speed/child.ts'))) as Children
  stops.push(stopAll)
  const { bringUp } = (await import(join(checkout, 'bench/speed/rig.ts'))) as Rig
  const { targets, skipped } = await bringUp(
    mkdtempSync(join(folder, `${name}-`)),
    new Set([target]),
  )
  const [started] = targets
  if (started === undefined) throw new Error(`${name}: ${skipped.map(({ why }) => why).join()}`)
  return { name, target: started }
}

async function compare(load: Workload, [before, after]: readonly [Side, Side]): Promise<void> {
  for (let turn = 0; turn < warmTurns; turn++)
    for (const side of [before, after]) await measure(side.target, load, warmSeconds, -1)
  const pairs: { readonly before: Costs; readonly after: Costs }[] = []
  for (let turn = 0; turn < turns; turn++) {
    // The second of a pair finds the caches as the first one left them: they take turns.
    const isFirst = turn % 2 === 0
    const one = await costsOf(isFirst ? before : after, load)
    const other = await costsOf(isFirst ? after : before, load)
    pairs.push(isFirst ? { before: one, after: other } : { before: other, after: one })
  }
  console.log(`\n${load.title}, ${target}, ${turns} turns of ${seconds} s`)
  tell('CPU µs', pairs, ({ cpuUs }) => cpuUs)
  tell('first byte, p50 µs', pairs, ({ firstByteUs }) => firstByteUs)
  tell('p50 µs', pairs, ({ p50Us }) => p50Us)
  tell('p99 µs', pairs, ({ p99Us }) => p99Us)
}

async function costsOf(side: Side, load: Workload): Promise<Costs> {
  const sample = await measure(side.target, load, seconds, 0)
  if (sample.failures > 0) throw new Error(`${side.name}: ${sample.firstFailure}`)
  const { p50, p99 } = sample.latencyUs
  const firstByteUs = sample.firstByteUs.p50
  return { cpuUs: countedUs(sample.parts), firstByteUs, p50Us: p50, p99Us: p99 }
}

/** The medians of both, and the mean of the ratios within the turns with its standard error. */
function tell(
  unit: string,
  pairs: readonly { readonly before: Costs; readonly after: Costs }[],
  read: (costs: Costs) => number,
): void {
  const [before, after] = [
    pairs.map((pair) => read(pair.before)),
    pairs.map((pair) => read(pair.after)),
  ]
  const ratios = pairs.map((pair) => read(pair.after) / read(pair.before))
  const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length
  const variance = ratios.reduce((sum, ratio) => sum + (ratio - mean) ** 2, 0) / (ratios.length - 1)
  const error = Math.sqrt(variance / ratios.length)
  const medians = `${median(before).toFixed(0)} → ${median(after).toFixed(0)}`
  console.log(
    `${unit}: ${medians}, ratio ${mean.toFixed(3)} ± ${error.toFixed(3)} (median ${median(ratios).toFixed(3)})`,
  )
}

function knownName<const Name extends string>(given: string, known: readonly Name[]): Name {
  const found = known.find((name) => name === given)
  return found ?? refuseArguments(`unknown: ${given}. Known: ${known.join('; ')}`)
}
