/**
 * The embedded engine against the bare library, in one run: what our layer costs and what it gains.
 *
 *     npm run task -- bench:engine                 TinyLlama and MiniLM, some minutes
 *     npm run task -- bench:engine --quick      the story model, about a minute; its prompts are short
 *     npm run task -- bench:engine --cpu        counts processor time instead of the clock's, for busy machines
 *     npm run task -- bench:engine --rounds=9   more rounds (5)
 *     npm run task -- bench:engine --only=streams   or prefix, embeddings, memory
 *     THREADS=2 npm run task -- bench:engine       with another number of threads
 *
 * Both sides take turns, and who begins alternates; each round gives one ratio. Shown are the medians, the ratios'
 * range, and whether the goal is met.
 */
import { availableParallelism } from 'node:os'
import {
  type BenchSetting,
  chatName,
  type EngineSide,
  openBare,
  openEngine,
  type Side,
  sequences,
  texts,
  tokensEach,
} from './engine-sides.ts'
import { median } from './median.ts'

const isCpuTime = process.argv.includes('--cpu')
const rounds = Number(option('rounds') ?? 5)
const setting: BenchSetting = {
  isQuick: process.argv.includes('--quick'),
  threads: Number(process.env.THREADS ?? Math.max(1, availableParallelism() - 1)),
}

async function measureAll(): Promise<void> {
  const { threads } = setting
  const time = isCpuTime ? 'processor time' : 'wall time'
  console.log(`${chatName(setting)}, ${threads} thread(s), ${rounds} rounds, ${time}\n`)
  const only = option('only')
  const sides = { bare: await openBare(setting), engine: await openEngine(setting) }
  for (const side of [sides.bare, sides.engine]) await side.generate(sequences) // warm-up
  if (only === undefined || only === 'streams') {
    const one = await takeTurns(sides, (side) => side.generate(1))
    report('one stream, tokens/s', one, tokensEach(setting), 0.95)
    const four = await takeTurns(sides, (side) => side.generate(4))
    report('four streams, tokens/s in total', four, 4 * tokensEach(setting), 1)
  }
  if (only === undefined || only === 'prefix') await measurePrefix(sides.engine)
  if (only === undefined || only === 'embeddings') {
    const embeddings = await takeTurns(sides, (side) => side.embed())
    report('embeddings, texts/s', embeddings, texts.length, 0.9)
  }
  if (only === undefined || only === 'memory') await compareMemory()
}

async function compareMemory(): Promise<void> {
  const [bareBytes, ourBytes] = [await childMemory('bare'), await childMemory('engine')]
  const ratio = ourBytes / bareBytes
  const shown = `bare ${megabytes(bareBytes)}, engine ${megabytes(ourBytes)}, ratio ${ratio.toFixed(2)}`
  console.log(`${'memory, peak MB'.padEnd(36)}${shown} (at most 1.3: ${yesNo(ratio <= 1.3)})`)
}

type Turn = { readonly bareMs: number; readonly engineMs: number }

/** The previous turn would otherwise favour one side: caches, CPU frequency, other load. */
async function takeTurns(
  sides: { readonly bare: Side; readonly engine: Side },
  work: (side: Side) => Promise<void>,
): Promise<Turn[]> {
  const turns: Turn[] = []
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) {
      const bareMs = await elapsed(() => work(sides.bare))
      turns.push({ bareMs, engineMs: await elapsed(() => work(sides.engine)) })
    } else {
      const engineMs = await elapsed(() => work(sides.engine))
      turns.push({ engineMs, bareMs: await elapsed(() => work(sides.bare)) })
    }
  }
  return turns
}

function report(name: string, turns: readonly Turn[], count: number, goal: number): void {
  const ratios = turns.map(({ bareMs, engineMs }) => bareMs / engineMs).toSorted((a, b) => a - b)
  const rate = (ms: number) => ((count / ms) * 1000).toFixed(1)
  const bare = rate(median(turns.map(({ bareMs }) => bareMs)))
  const engine = rate(median(turns.map(({ engineMs }) => engineMs)))
  const range = `${ratios[0]?.toFixed(2)} to ${ratios.at(-1)?.toFixed(2)}`
  const ratio = median(ratios)
  console.log(
    `${name.padEnd(36)}bare ${bare}, engine ${engine}, ratio ${ratio.toFixed(2)} (${range}; at least ${goal}: ${yesNo(ratio >= goal)})`,
  )
}

/** Time to the first token of a long prompt: new, again, and again after it was swapped out. */
async function measurePrefix(engine: EngineSide): Promise<void> {
  const words = setting.isQuick ? 40 : 300
  const long = Array.from({ length: words }, (_, at) => `${at % 10} apples`).join(', ')
  const seen: { first: number; again: number; swapped: number }[] = []
  let tokens = 0
  for (let round = 0; round < Math.min(3, rounds); round++) {
    const ask = async () => {
      tokens = await engine.firstToken(long, `salt of round ${round}`)
    }
    const [first, again] = [await elapsed(ask), await elapsed(ask)]
    for (let at = 0; at < sequences; at++) {
      await engine.firstToken('Once upon a time', `${at} others of round ${round}`)
    }
    seen.push({ first, again, swapped: await elapsed(ask) })
  }
  const firstMs = median(seen.map((one) => one.first))
  for (const [name, ms, goal] of [
    ['prompt again, same salt', median(seen.map((one) => one.again)), 8],
    ['… after it was swapped out', median(seen.map((one) => one.swapped)), undefined],
  ] as const) {
    const times = firstMs / ms
    const verdict = goal === undefined ? '' : ` (at least ${goal}: ${yesNo(times >= goal)})`
    console.log(
      `${name.padEnd(36)}${tokens} tokens: ${firstMs.toFixed(0)} ms, then ${ms.toFixed(0)} ms, ${times.toFixed(1)} times sooner${verdict}`,
    )
  }
}

/** Both do the same work in a separate process; the kernel reports the peak. */
async function measureMemory(which: string): Promise<void> {
  const side = which === 'bare' ? await openBare(setting) : await openEngine(setting)
  await side.generate(4)
  await side.embed()
  // Prompts under many salts, until states have been swapped out.
  if ('firstToken' in side) {
    for (let at = 0; at < 8; at++) {
      await (side as EngineSide).firstToken('Once upon a time. '.repeat(20), `salt ${at}`)
    }
  }
  const status = await Bun.file('/proc/self/status').text()
  console.log(`peak ${Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024}`)
}

async function childMemory(which: string): Promise<number> {
  const quick = setting.isQuick ? ['--quick'] : []
  const args = [process.execPath, import.meta.path, `--memory=${which}`, ...quick]
  const child = Bun.spawn(args, { stdout: 'pipe', stderr: 'inherit' })
  const told = await new Response(child.stdout).text()
  return Number(/peak (\d+)/.exec(told)?.[1] ?? Number.NaN)
}

/** Wall-clock time; with `--cpu` CPU time, which a busy machine does not distort. */
async function elapsed(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now()
  const usedBefore = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(usedBefore)
  return isCpuTime ? (user + system) / 1000 : performance.now() - startedMs
}

function option(name: string): string | undefined {
  const start = `--${name}=`
  return process.argv.find((arg) => arg.startsWith(start))?.slice(start.length)
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0)
const yesNo = (holds: boolean): string => (holds ? 'yes' : 'NO')

const memoryOf = option('memory')
if (memoryOf === undefined) await measureAll()
else await measureMemory(memoryOf)
process.exit(0)
