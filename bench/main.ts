/**
 * What encryption costs, side by side: `npm run task -- bench [--quick] [--report] [--parts] [--only IDS] [--targets NAMES] [--rounds N] [--minutes N] [--as NAME]`.
 *
 * Starts peers and our programs on this machine, sends all of them the same requests in turn, and writes
 * docs/performance/results.json, plots beside it, and docs/performance.md. `--quick` takes three
 * minutes and writes to bench/quick-results.json only; `--report` writes the document again from
 * the results that are there; `--parts` adds a new measurement of the stages of worker and gateway to
 * them; `--as NAME` keeps the run of another machine in docs/performance/NAME.json, and the next
 * report has its goals; `--record` records the ratios that `bench:stages` compares. Unavailable
 * peers are skipped, and the tables say so.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseTaskArguments, refuseArguments } from '../scripts/task-arguments.ts'
import { cleanUpOnSignal } from '../test/clean-up.ts'
import { canMeasure, isPinned, root, stopAll } from './speed/child.ts'
import { measureClients } from './speed/clients.ts'
import { measureFootprint } from './speed/footprint.ts'
import { peerVersions } from './speed/gateways.ts'
import { measure, type PartCost, type Sample } from './speed/measure.ts'
import { randomReadNs } from './speed/memory-speed.ts'
import { measureParts } from './speed/part-stages.ts'
import { recordRatios } from './speed/recorded-ratios.ts'
import { writeReport } from './speed/report.ts'
import type { Results } from './speed/results.ts'
import { bringUp } from './speed/rig.ts'
import { measureStages } from './speed/stage-costs.ts'
import { mostStolen } from './speed/stolen-time.ts'
import { type Skipped, type Target, type TargetName, targetNames } from './speed/target.ts'
import { measureTwoCores } from './speed/two-cores.ts'
import { pacedSeconds, type Workload, workloads } from './speed/workloads.ts'

const { values: options } = parseTaskArguments({
  options: {
    quick: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    only: { type: 'string' },
    targets: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    minutes: { type: 'string' },
    record: { type: 'boolean', default: false },
    parts: { type: 'boolean', default: false },
    as: { type: 'string' },
  },
})
const seconds = Number(options.seconds ?? 1.5)
const rounds = Number(options.rounds ?? (options.quick ? 2 : 3))
/** Until a program runs as it does in the long run: compiled, its pools filled. */
const warmSeconds = options.quick ? 4 : 3
const warmStreams = 256
/** Slow programs answer fewer in that time, shaped streams fewest: they are given more turns while they need them. */
const mostWarmTurns = 8
const compilingPart = 0.03
const stageEffort = { tries: 60, calls: 500 }
const warmRequests = {
  chat: 12_000,
  stream: 1500,
  'paced-stream': 0,
  'steady-stream': 1000,
  embeddings: 300,
} as const

/** How often a measurement that lost too much time to others is repeated, and after which pause. */
const mostRepeats = options.quick ? 1 : 6
const pauseMs = 5_000
let repeats = 0
const readNs: number[] = []

/** No measurement is started after this. */
const limitMs = Number(options.minutes ?? (options.quick ? 2.5 : 60)) * 60_000
let startedMs = performance.now()
const ownRun = 'results'
/** Whose results are kept beside those of the page's own run. */
const otherMachine = options.as
if (otherMachine !== undefined && (!/^[a-z0-9-]+$/.test(otherMachine) || otherMachine === ownRun))
  refuseArguments(`--as takes lower-case letters, digits and hyphens, and not “${ownRun}”`)
const quickTargets: readonly TargetName[] = ['direct', 'nginx', 'portkey', 'proxy']
const possibleTargets = options.quick ? quickTargets : targetNames
const possibleLoads = workloads.filter(({ quick }) => quick === true || !options.quick)
const besideLoads = ['two-cores', 'clients', 'footprint'] as const
const only = knownNames(options.only, ',', [...possibleLoads.map(({ id }) => id), ...besideLoads])

if (options.report) writeReport()
else if (options.record) console.log(await recordRatios())
else if (options.parts) await addParts()
else await run()

async function addParts(): Promise<void> {
  const path = join(root, 'docs/performance/results.json')
  const results = JSON.parse(readFileSync(path, 'utf8')) as Results
  const parts = await measureParts(stageEffort)
  writeFileSync(path, `${JSON.stringify({ ...results, parts }, null, 1)}\n`)
  writeReport()
}

async function run(): Promise<void> {
  if (!canMeasure) {
    console.log('skipped: processor time is read from /proc, which is not there')
    return
  }
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-bench-'))
  cleanUpOnSignal(stopAll)
  try {
    const { targets, skipped, place, backend } = await bringUp(folder, wantedTargets())
    startedMs = performance.now() // what had to be installed is not part of it
    const samples = await measureAll(targets)
    const wantsMore = !options.quick && options.only === undefined && options.targets === undefined
    const wants = (name: (typeof besideLoads)[number]) => wantsMore || only?.includes(name)
    const twoCores = wants('two-cores')
      ? await measureTwoCores(place, backend, seconds).catch((error: unknown) => {
          console.log(`two cores: ${error}`)
          return undefined
        })
      : undefined
    const clients = wants('clients') ? await measureClients(targets, backend, seconds) : undefined
    const footprint = wants('footprint') ? await measureFootprint(place, backend) : undefined
    const stages = wantsMore ? await measureStages(stageEffort) : undefined
    finish(samples, skipped, {
      ...(stages === undefined ? {} : { stages, parts: await measureParts(stageEffort) }),
      ...(twoCores === undefined ? {} : { twoCores }),
      ...(clients === undefined ? {} : { clients }),
      ...(footprint === undefined ? {} : { footprint }),
    })
  } finally {
    await stopAll()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Ends the program if a name is unknown: it would measure nothing. */
function knownNames(list: string | undefined, separator: string, known: readonly string[]) {
  const names = list?.split(separator).map((name) => name.trim())
  const unknown = names?.find((name) => !known.includes(name))
  if (unknown === undefined) return names
  console.error(`unknown: ${unknown}. Known, separated by “${separator}”: ${known.join(separator)}`)
  process.exit(2)
}

function wantedTargets(): Set<TargetName> {
  const listed = knownNames(options.targets, ';', possibleTargets)
  return new Set(possibleTargets.filter((name) => listed === undefined || listed.includes(name)))
}

/**
 * Each round runs every load once, and each load visits its targets in turn: a minute in which the
 * machine is slow affects all targets alike, and only one round of three.
 */
async function measureAll(targets: readonly Target[]): Promise<Sample[]> {
  const samples: Sample[] = []
  const chosen = possibleLoads.filter(({ id }) => only === undefined || only.includes(id))
  for (let round = 0; round < Math.max(...chosen.map(roundsOf)); round++) {
    readNs.push(randomReadNs())
    for (const workload of chosen) {
      if (round >= roundsOf(workload)) continue
      const taking = targets.filter(({ name }) => workload.targets?.includes(name) !== false)
      // A workload that is run by itself has none before it.
      const isWarm = round > 0 || (workload.isWarm === true && only === undefined)
      if (!workload.once && !isWarm) for (const target of taking) await warm(target, workload)
      for (const target of taking) {
        const sample = await attempt(target, workload, round)
        if (sample !== undefined) samples.push(sample)
      }
    }
  }
  return samples
}

function roundsOf(workload: Workload): number {
  const usual = workload.rounds ?? (workload.once ? 2 : rounds)
  const isAsked = options.quick || options.rounds !== undefined
  return isAsked ? Math.min(usual, rounds) : usual
}

async function warm(target: Target, workload: Workload): Promise<void> {
  const isCompiled = ['direct', 'nginx', 'haproxy'].includes(target.name)
  if (isCompiled || isLate()) return
  // Shaped streams come at the pace of a clock: only many at once are enough to be compiled.
  const isStream = workload.work.kind === 'stream' || workload.work.kind === 'steady-stream'
  const warmed = isStream ? { ...workload, connections: warmStreams } : workload
  const most = warmRequests[workload.work.kind]
  for (let turn = 0; turn < mostWarmTurns && !isLate(); turn++) {
    const sample = await measure(target, warmed, warmSeconds, -1, most).catch(() => undefined)
    if (!isCompiling(sample)) return
  }
}

/** Runtimes compile in background threads. */
function isCompiling(sample: Sample | undefined): boolean {
  const sum = (read: (part: PartCost) => number) =>
    (sample?.parts ?? [])
      .filter(({ apart }) => apart !== true)
      .reduce((all, part) => all + read(part), 0)
  return sum(({ besideUs }) => besideUs) > compilingPart * sum(({ cpuUs }) => cpuUs)
}

function isLate(): boolean {
  return performance.now() - startedMs > limitMs
}

async function attempt(
  target: Target,
  workload: Workload,
  round: number,
): Promise<Sample | undefined> {
  if (isLate()) {
    console.log(`${workload.id} ${target.name}: left out, the time is over`)
    return undefined
  }
  const time = workload.once ? pacedSeconds * 2 : seconds * (workload.stretch ?? 1)
  try {
    const sample = await leastDisturbed(async () => {
      if (workload.leadSeconds !== undefined)
        await measure(target, workload, workload.leadSeconds, -1)
      return measure(target, workload, time, round)
    })
    const { perSecond, perCpuSecond, latencyUs, failures } = sample
    const rates = `${perSecond.toFixed(0)}/s, ${perCpuSecond.toFixed(0)} per CPU second`
    const times = `p50 ${latencyUs.p50.toFixed(0)} µs, p99 ${latencyUs.p99.toFixed(0)} µs`
    const bad = failures > 0 ? `, ${failures} FAILED (${sample.firstFailure})` : ''
    const part = ((sample.stolenPart ?? 0) * 100).toFixed(1)
    const taken = (sample.stolenPart ?? 0) > mostStolen ? `, ${part}% of the time was stolen` : ''
    console.log(`${workload.id} ${target.name}: ${rates}, ${times}${bad}${taken}`)
    return sample
  } catch (error) {
    console.log(`${workload.id} ${target.name}: ${error instanceof Error ? error.message : error}`)
    return undefined
  }
}

/** The first sample during which the host took little of the processor, otherwise that with the least. */
async function leastDisturbed(take: () => Promise<Sample>): Promise<Sample> {
  let best = await take()
  for (let repeat = 0; repeat < mostRepeats && !isLate(); repeat++) {
    if ((best.stolenPart ?? 0) <= mostStolen) break
    repeats++
    await Bun.sleep(pauseMs)
    const sample = await take()
    if ((sample.stolenPart ?? 0) < (best.stolenPart ?? 0)) best = sample
  }
  return best
}

function finish(
  samples: readonly Sample[],
  skipped: readonly Skipped[],
  more: Pick<Results, 'stages' | 'parts' | 'twoCores' | 'clients' | 'footprint'>,
): void {
  const results: Results = {
    at: new Date().toISOString().slice(0, 10),
    machine: {
      ...{ cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, pinned: isPinned },
      randomReadNs: readNs,
    },
    versions: { bun: Bun.version, ...peerVersions },
    seconds,
    rounds,
    minutes: Math.round((performance.now() - startedMs) / 6000) / 10,
    repeats,
    skipped,
    samples,
    ...more,
  }
  const isPart = options.quick || options.only !== undefined || options.targets !== undefined
  const kept = otherMachine ?? (isPart ? undefined : ownRun)
  const place = kept === undefined ? 'bench/quick-results.json' : `docs/performance/${kept}.json`
  const path = join(root, place)
  mkdirSync(join(root, 'docs/performance'), { recursive: true })
  writeFileSync(path, `${JSON.stringify(results, null, 1)}\n`)
  writeReport(results, kept === ownRun)
}
