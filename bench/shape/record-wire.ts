/**
 * Records what a watcher of the network sees of calls by the official clients, on both legs: between proxy
 * and gateway, and between a plain HTTPS client and the proxyless endpoint.
 *
 * A relay on TCP notes time, direction and size of every piece, and who closed the connection when.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { classOf } from '../../apps/worker/src/sealed/traffic-shape.ts'
import type { ScriptedReply } from '../../packages/inference/src/testing/scripted-model.ts'
import { startScriptedServer } from '../../packages/inference/src/testing/scripted-server.ts'
import { startExtraProxy } from '../../test/clients/extra-proxies.ts'
import { type RunningStack, runStack } from '../../test/e2e/running-stack.ts'
import { startWireTap } from '../../test/shape/wire-tap.ts'
import type { SeenExchange } from './record-exchange.ts'
import { startRecordingRelay } from './recording-relay.ts'
import { seededRandom } from './seeded-random.ts'
import { type Asked, type Clients, callLimitMs, type Job, startClients } from './wire-clients.ts'
import { type Call, legs, planCalls, shapes } from './wire-plan.ts'

export type WireSample = Call & {
  /** Milliseconds since the first byte of the request, bytes, and whether they were of the answer. */
  readonly packets: readonly (readonly [atMs: number, bytes: number, answer: 0 | 1])[]
  /** When the connection was closed before the answer had ended. */
  readonly resetMs: number | null
  /** As the application saw it. */
  readonly totalMs: number
  /** Of a conversation: how long its first request was. */
  readonly firstRequestBytes?: number
  /** Of the machine, when it was over. */
  readonly load: number
}

export type WireOptions = {
  /** Calls that it has already are not made again. */
  readonly path: string
  /** What a processor had to do for an answer in each shape is written here, if it is asked for. */
  readonly costPath: string
  readonly measuresCost: boolean
  /** Calls of other rows are left out: it is compared with their set, leg, kind and shape. */
  readonly rows: RegExp
  /** Calls that would take longer are left for the next time. */
  readonly minutes: number
  readonly perTopic: number
  readonly concurrency: number
  readonly seed: number
}

type Seen = Pick<WireSample, 'packets' | 'resetMs' | 'totalMs'>
/** One leg in one shape. */
type Way = {
  /** Of its proxy. */
  readonly pid: number
  ask(call: Call, body: Job['body']): Promise<Seen>
  stop(): Promise<void>
}

/** All at once would be a load that no call has later. */
const betweenStartsMs = 150

/** Returns how many calls are left. */
export async function recordWire(options: WireOptions): Promise<number> {
  const { path, costPath, concurrency } = options
  const deadlineMs = performance.now() + options.minutes * 60_000
  const known = knownCalls(path)
  // The longest first: they would not be over in time later.
  const calls = planCalls(options)
    .filter(({ index }) => !known.has(index))
    .filter(({ set, leg, kind, shape }) => options.rows.test(`${set} ${leg} ${kind} ${shape}`))
    .sort((a, b) => Number(isLong(b)) - Number(isLong(a)))
  const replies = new Map<string, ScriptedReply>()
  const server = startScriptedServer({
    ...{ kind: 'vllm', models: [...models, 'embed'], embedModels: ['embed'] },
    ...{ contextLength: 100_000, cache: 'none' },
    reply: ({ last }) => replies.get(/question (\d+)/.exec(last)?.[1] ?? ''),
  })
  const stack = await runStack(['--engineUrl', server.url])
  const clients = await startClients(stack.ca)
  const ways = new Map<string, Way>()
  const wayOf = ({ leg, shape }: Pick<Call, 'leg' | 'shape'>) => ways.get(`${leg} ${shape}`) as Way
  let [done, failed] = [0, 0]
  /** The first that will be over in time. */
  const next = () => {
    const leftMs = deadlineMs - performance.now()
    const at = calls.findIndex((call) => expectedMs(call) < leftMs)
    return at < 0 ? undefined : calls.splice(at, 1)[0]
  }
  const play = async (_: unknown, player: number) => {
    await Bun.sleep(player * betweenStartsMs)
    for (let call = next(); call !== undefined; call = next()) {
      try {
        const sample = await playCall(call, wayOf(call), replies)
        appendFileSync(path, `${JSON.stringify(sample)}\n`)
        if (++done % 200 === 0) console.log(`${done} recorded, ${failed} failed, load ${load()}`)
      } catch (error) {
        if (++failed < 20) console.error('a call failed:', call, error)
      }
      if ((done + failed) % 50 === 0) server.requests.splice(0)
    }
  }
  try {
    for (const leg of legs) {
      for (const shape of shapes) {
        const open = leg === 'sealed' ? openSealed : openProxyless
        ways.set(`${leg} ${shape}`, await open(stack, shape, clients))
      }
    }
    await warmUp(wayOf({ leg: 'sealed', shape: 'off' }), replies)
    if (options.measuresCost) {
      const costs = await measureCosts(stack, (shape) => wayOf({ leg: 'sealed', shape }), replies)
      writeFileSync(costPath, `${JSON.stringify(costs, null, 2)}\n`)
    }
    await Promise.all(Array.from({ length: concurrency }, play))
    console.log(`${done} recorded, ${failed} failed, ${calls.length} left, load ${load()}`)
  } finally {
    for (const way of ways.values()) await way.stop()
    clients.stop()
    await stack.stop()
    await server.stop()
  }
  return calls.length
}

const load = () => Math.round((loadavg()[0] ?? 0) * 10) / 10

/** Engines of other speeds are other models: the worker knows the pace of each. */
const modelOf = (paceMs: number) => `scripted-${paceMs}ms`
const models = [100, 40, 20, 10].map(modelOf)

function knownCalls(path: string): Set<number> {
  if (!existsSync(path)) return new Set()
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  return new Set(lines.map((line) => (JSON.parse(line) as WireSample).index))
}

/** The length that it will have, and something for a busy machine. */
function expectedMs({ shape, kind, tokens, paceMs }: Call): number {
  if (kind === 'embeddings') return 10_000
  const generatesMs = 1_000 + 1.1 * tokens * paceMs
  const turns = kind === 'conversation' ? 2 : 1
  if (shape === 'off') return turns * generatesMs
  const [leastTokens, growth] = shape === 'default' ? [800, 2] : [3_200, 4]
  return 10_000 + turns * classOf(generatesMs, leastTokens * Math.max(paceMs, 10), growth)
}

const isLong = (call: Call) => expectedMs(call) > 150_000

/** Until the worker knows the pace of each model, as it does soon after it was started. */
async function warmUp(way: Way, replies: Map<string, ScriptedReply>): Promise<void> {
  const once = (paceMs: number, index: number) =>
    playCall({ ...plainCall, shape: 'off', tokens: 110, paceMs, index }, way, replies)
  await Promise.all(
    [100, 40, 20, 10].flatMap((paceMs) => [1, 2, 3, 4, 5, 6].map((i) => once(paceMs, -i * paceMs))),
  )
}

const plainCall = {
  set: '',
  leg: 'sealed',
  kind: 'stream',
  client: 'openai',
  topic: 0,
} as const

export type Cost = { readonly [part in 'proxy' | 'gateway' | 'worker']: number }

const costAnswers = 24

/** Milliseconds of processor time for a stream of 400 tokens, many at once. */
async function measureCosts(
  stack: RunningStack,
  wayOf: (shape: Call['shape']) => Way,
  replies: Map<string, ScriptedReply>,
): Promise<{ readonly [shape in Call['shape']]: Cost }> {
  const measure = async (shape: Call['shape']): Promise<Cost> => {
    const way = wayOf(shape)
    const pids = [way.pid, stack.pidOf('gateway'), stack.pidOf('worker')]
    const before = pids.map(processorMs)
    const play = (_: unknown, index: number) =>
      playCall(
        { ...plainCall, shape, tokens: 400, paceMs: 20, index: -10_000 - index },
        way,
        replies,
      )
    await Promise.all(Array.from({ length: costAnswers }, play))
    const [proxy = 0, gateway = 0, worker = 0] = pids.map(
      (pid, at) => (processorMs(pid) - (before[at] ?? 0)) / costAnswers,
    )
    return { proxy, gateway, worker }
  }
  // The first ones also pay for what is compiled.
  await measure('off')
  return {
    off: await measure('off'),
    default: await measure('default'),
    strict: await measure('strict'),
  }
}

/** Fields 14 and 15 of the kernel's line are ticks of 10 ms; the name before them may have spaces. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return 10 * (Number(fields[11]) + Number(fields[12]))
}

async function playCall(
  call: Call,
  way: Way,
  replies: Map<string, ScriptedReply>,
): Promise<WireSample> {
  const { index } = call
  const id = String(10_000_000 + index)
  const question = { role: 'user', content: `question ${id}, and the same words for all` }
  replies.set(id, replyOf(call, index))
  try {
    if (call.kind !== 'conversation') {
      return { ...call, ...(await way.ask(call, bodyOf(call, [question]))), load: load() }
    }
    // Some pages were said before; the second request has the answer to the first in it.
    const pages = { role: 'user', content: 'some pages of text. '.repeat(400) }
    const first = [pages, { role: 'assistant', content: 'yes' }, question]
    const opening = await way.ask(call, bodyOf(call, first))
    const said = { role: 'assistant', content: wordsOf(call, index).join('') }
    replies.set(id, { tokens: wordsOf({ ...call, tokens: 30 }, index), paceMs: 20, prefillMs: 150 })
    const seen = await way.ask(call, bodyOf(call, [...first, said, question]))
    return { ...call, ...seen, firstRequestBytes: requestBytes(opening), load: load() }
  } finally {
    replies.delete(id)
  }
}

const requestBytes = ({ packets }: Seen) =>
  packets.reduce((sum, [, bytes, answer]) => sum + (answer === 1 ? 0 : bytes), 0)

function bodyOf(call: Call, messages: readonly object[]): Job['body'] {
  if (call.kind === 'embeddings') {
    const input = Array.from({ length: call.tokens }, (_, index) => `text ${index} of some length`)
    return { model: 'embed', input, encoding_format: 'float' }
  }
  const tools = [{ type: 'function', function: { name: 'write', parameters: { type: 'object' } } }]
  return {
    model: modelOf(call.paceMs),
    messages,
    ...(call.client.startsWith('anthropic') ? { max_tokens: 4096 } : {}),
    ...(call.kind === 'whole' ? {} : { stream: true }),
    ...(call.kind === 'tools' ? { tools } : {}),
  }
}

function replyOf(call: Call, seed: number): ScriptedReply {
  const { kind, paceMs } = call
  if (isErrorCall(call)) return { error: { status: 400, message: 'not this way' } }
  if (kind !== 'tools') {
    const prefillMs = kind !== 'cache' ? 150 : call.topic === 1 ? 60 : 1_200
    return { tokens: wordsOf(call, seed), paceMs, prefillMs }
  }
  const text = wordsOf(call, seed).join('')
  // A tool call comes in one piece when the model is done with it.
  const prefillMs = 150 + call.tokens * paceMs
  return { toolCalls: [{ name: 'write', arguments: { text } }], prefillMs, paceMs }
}

const isErrorCall = ({ kind, topic }: Call) => kind === 'error' && topic === 0

const words = ['a', 'of', 'the', 'with', 'token', 'length', 'another', 'different', 'considerable']

/** Topics differ in the lengths of their tokens, too, as they do in life. */
function wordsOf({ topic, tokens }: Pick<Call, 'topic' | 'tokens'>, seed: number): string[] {
  const random = seededRandom(seed)
  const pick = () => words[Math.min(8, Math.floor(random.next() * 7 + (topic % 3)))] ?? 'a'
  return Array.from({ length: Math.round(tokens) }, () => ` ${pick()}`)
}

/** Exchanges share connections; the relay tells them apart by the id in their clear headers. */
async function openSealed(
  stack: RunningStack,
  shape: Call['shape'],
  clients: Clients,
): Promise<Way> {
  const over = new Map<string, SeenExchange>()
  const relay = startRecordingRelay(stack.gatewayUrl, (exchange) => {
    over.set(exchange.requestId, exchange)
  })
  const { process: proxy } = await startExtraProxy(stack, {
    ...{ apiEndpoint: relay.url, apiKey: stack.apiKey, args: ['--trafficShape', shape] },
  })
  return {
    pid: proxy.pid,
    async ask(call, body) {
      const isError = isErrorCall(call)
      const job = { client: call.client, url: proxy.url, apiKey: stack.apiKey, body }
      const { requestId, totalMs } = await clients.ask({ ...job, shared: true, isError })
      const deadlineMs = performance.now() + callLimitMs
      while (!over.has(requestId) && performance.now() < deadlineMs) await Bun.sleep(50)
      const seen = over.get(requestId)
      over.delete(requestId)
      if (seen === undefined) throw new Error('the exchange never ended')
      const packets = seen.packets.map(([atMs, bytes]) => [round(atMs), bytes, 1] as const)
      return { packets: [[0, seen.upBytes, 0], ...packets], resetMs: seen.cutMs, totalMs }
    },
    async stop() {
      await proxy.stop()
      relay.stop()
    },
  }
}

/** Every call has a connection, and a relay, of its own. */
async function openProxyless(
  stack: RunningStack,
  shape: Call['shape'],
  clients: Clients,
): Promise<Way> {
  const { process: proxy } = await startExtraProxy(stack, {
    ...{ hosted: true, cold: true, args: ['--trafficShape', shape] },
  })
  return {
    pid: proxy.pid,
    async ask(call, body) {
      const isError = isErrorCall(call)
      const tap = startWireTap(proxy.url)
      try {
        const url = `https://localhost:${tap.port}`
        const job = { client: call.client, url, apiKey: stack.apiKey, body }
        const { totalMs }: Asked = await clients.ask({ ...job, shared: false, isError })
        const [connection] = tap.connections
        const startMs = connection?.seen[0]?.atMs ?? 0
        const packets = (connection?.seen ?? []).map(
          ({ atMs, bytes, answer }) => [round(atMs - startMs), bytes, answer ? 1 : 0] as const,
        )
        return { packets, resetMs: null, totalMs }
      } finally {
        tap.stop()
      }
    },
    stop: () => proxy.stop(),
  }
}

const round = (ms: number) => Math.round(ms * 10) / 10
