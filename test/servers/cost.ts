/** The stack's cost compared with the bare server: time to the first token and tokens per second, in turns. */
import { availableParallelism } from 'node:os'
import { runStack } from '../e2e/running-stack.ts'
import { type Entrance, straight, throughProxy } from './entrances.ts'
import { run } from './install.ts'
import { modelName as model, type RealServer } from './real-server.ts'
import { bareWay, type CostRow, formatCost, type Spread } from './report.ts'
import { firstText, promptOf, ServerTimes } from './server-times.ts'

/** Many short answers: the first token of the server itself varies by as much as the stack may add. */
const alone: Load = { streams: 1, rounds: 151, answers: 1, tokens: [20, 20] }
/**
 * Several streams show the throughput under steady load: every client asks again when its answer is complete, and
 * answers differ in length as usual ones do, so that they do not begin and end all at once.
 */
const loads: readonly Load[] = [
  alone,
  { streams: 8, rounds: 9, answers: 3, tokens: [200, 600] },
  { streams: 32, rounds: 15, answers: 3, tokens: [200, 600] },
]
const shapes = ['off', 'default']
const nameOf = ({ streams }: Load, shape: string) => `${streams} at once, shape ${shape}`
export const loadNames = shapes.flatMap((shape) => loads.map((load) => nameOf(load, shape)))

/** Code that has run a few times only is slower than the same code an hour later, at one request a second. */
const [firstWarmUps, hourOfWarmUps] = [400, 3600]

type Load = Pick<CostRow, 'streams' | 'rounds' | 'answers' | 'tokens'>
type FirstToken = { readonly ms: number; readonly outsideMs: number }
type Measure = {
  readonly firstMs: number
  readonly perSecond: number
  /** Outside the server: of the first answers, which all streams ask for at once, and of later ones. */
  readonly together: readonly number[]
  readonly oneByOne: readonly number[]
}

/** One half of the processors is the server's with all its processes, the other is the stack's and the client's. */
export function processorHalves(): { readonly ours: string; readonly servers: string } {
  const count = availableParallelism()
  const half = Math.max(1, Math.floor(count / 2))
  return { ours: `0-${half - 1}`, servers: count === 1 ? '0' : `${half}-${count - 1}` }
}

/**
 * The bare server and the proxy take turns in every round, so that a busy machine is so for both. Shapes are
 * measured one after the other: the padding of one would run beside the other. Only loads whose name has the
 * text of `only` are measured.
 */
export async function measureCost(server: RealServer, only: string): Promise<CostRow[]> {
  // What is started from here on inherits it; the server was started on its own half.
  await run(['taskset', '-acp', processorHalves().ours, `${process.pid}`])
  const rows: CostRow[] = []
  const times = new ServerTimes(server.url, processorHalves().servers)
  try {
    for (const shape of shapes) {
      const wanted = loads.filter((load) => nameOf(load, shape).includes(only))
      if (wanted.length > 0) rows.push(...(await measureShape(times, shape, wanted)))
    }
  } finally {
    await times.stop()
  }
  return rows
}

async function measureShape(
  times: ServerTimes,
  shape: string,
  wanted: readonly Load[],
): Promise<CostRow[]> {
  const url = await times.url
  const stack = await runStack(['--engineUrl', url, '--trafficShape', shape])
  try {
    const ways: readonly (readonly [string, Entrance])[] = [
      // The stack keeps its connections, too; opening one for every chat would make the server look slow.
      [bareWay, straight(url, { keepsConnections: true })],
      [`proxy, shape ${shape}`, throughProxy(stack)],
    ]
    for (const [, way] of ways) await warmUp(way, firstWarmUps)
    const rows: CostRow[] = []
    if (shape === 'off' && wanted.includes(alone)) {
      rows.push(...(await measureLoad(ways, times, alone, `, after ${firstWarmUps} chats`)))
      for (const [, way] of ways.slice(1)) await warmUp(way, hourOfWarmUps - firstWarmUps)
    }
    for (const load of wanted) rows.push(...(await measureLoad(ways, times, load)))
    return rows
  } finally {
    await stack.stop()
  }
}

async function measureLoad(
  ways: readonly (readonly [string, Entrance])[],
  times: ServerTimes,
  load: Load,
  age = '',
): Promise<CostRow[]> {
  const found = ways.map(([name, way]) => ({ name, way, measures: [] as Measure[] }))
  for (let round = 0; round < load.rounds; round++) {
    // Neither way is always the one that runs after the other.
    const order = round % 2 === 0 ? found : found.toReversed()
    for (const { way, measures } of order) measures.push(await measure(way, times, load))
  }
  const bare = found[0]?.measures ?? []
  const rows = found.map(({ name, measures }) => ({
    ...load,
    way: name === bareWay ? name : `${name}${age}`,
    firstMs: median(measures.map(({ firstMs }) => firstMs)),
    perSecond: median(measures.map(({ perSecond }) => perSecond)),
    stackMs: beyond(bare, measures, 'oneByOne'),
    togetherMs: load.streams === 1 ? undefined : beyond(bare, measures, 'together'),
    laterMs: spreadOf(bare.map(({ firstMs }, at) => (measures[at]?.firstMs ?? 0) - firstMs)),
    ofBare: spreadOf(bare.map(({ perSecond }, at) => (measures[at]?.perSecond ?? 0) / perSecond)),
  }))
  // A run that is cut has still found what it found.
  console.log(formatCost(rows).join('\n'))
  return rows
}

/** How much longer a first token is outside the server than the median of those straight from it. */
function beyond(
  bare: readonly Measure[],
  measures: readonly Measure[],
  which: 'oneByOne' | 'together',
): Spread {
  const straightMs = median(bare.flatMap((one) => one[which]))
  return spreadOf(measures.flatMap((one) => one[which]).map((ms) => ms - straightMs))
}

async function warmUp(way: Entrance, chats: number): Promise<void> {
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const body = { model, messages, stream: true, max_tokens: 4 }
  for (let done = 0; done < chats; done += 16)
    await Promise.all(Array.from({ length: 16 }, () => way.ask('/v1/chat/completions', body)))
}

async function measure(way: Entrance, times: ServerTimes, load: Load): Promise<Measure> {
  const started = performance.now()
  const lengths = Array.from({ length: load.streams }, (_, stream) => lengthsOf(load, stream))
  const streams = await Promise.all(
    lengths.map(async (ofStream) => {
      const firsts: FirstToken[] = []
      for (const tokens of ofStream) firsts.push(await streamOnce(way, times, tokens))
      return firsts
    }),
  )
  const seconds = (performance.now() - started) / 1000
  const tokens = lengths.flat().reduce((sum, length) => sum + length, 0)
  const outside = streams.map((firsts) => firsts.map(({ outsideMs }) => outsideMs))
  return {
    firstMs: median(streams.flat().map(({ ms }) => ms)),
    perSecond: tokens / seconds,
    together: outside.flatMap((ofStream) => ofStream.slice(0, 1)),
    oneByOne: outside.flatMap((ofStream) => (load.streams === 1 ? ofStream : ofStream.slice(1))),
  }
}

/** The same lengths on every way and in every round, spread evenly from the shortest to the longest. */
function lengthsOf({ streams, answers, tokens: [least, most] }: Load, stream: number): number[] {
  const count = streams * answers
  // No stream has only short answers, or all would wait for the one that has the long ones.
  const places = Array.from({ length: answers }, (_, answer) =>
    answer % 2 === 0 ? answer * streams + stream : (answer + 1) * streams - 1 - stream,
  )
  return places.map((place) =>
    Math.round(least + ((most - least) * place) / Math.max(1, count - 1)),
  )
}

let asked = 0

/**
 * Milliseconds to the first piece of text, and those that passed outside the server. No two prompts
 * begin alike: the bare server would find the second in its cache, which callers of ours do not share.
 */
async function streamOnce(way: Entrance, times: ServerTimes, tokens: number): Promise<FirstToken> {
  const number = ++asked
  const messages = [{ role: 'user', content: promptOf(number) }]
  const length = { max_tokens: tokens, ignore_eos: true, temperature: 0 }
  const started = performance.now()
  const response = await way.open('/v1/chat/completions', {
    model,
    messages,
    stream: true,
    ...length,
  })
  let ms: number | undefined
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += new TextDecoder().decode(chunk)
    if (ms === undefined && firstText.test(text)) ms = performance.now() - started
  }
  if (ms === undefined || !text.includes('[DONE]')) throw new Error('a stream was cut')
  return { ms, outsideMs: ms - (await times.take(number)) }
}

const median = (values: readonly number[]) => quantile(values, 0.5)

function spreadOf(values: readonly number[]): Spread {
  return [quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)]
}

function quantile(values: readonly number[], part: number): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN
}
