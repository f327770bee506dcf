/**
 * Records what a watcher of the network sees of calls by the official clients, on both legs: between proxy
 * and gateway, and between a plain HTTPS client and the proxyless endpoint.
 *
 * A relay on TCP notes time, direction and size of every piece, and who closed the connection when.
 */
import { appendFileSync, writeFileSync } from 'node:fs'
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
}

export type WireOptions = {
  readonly path: string
  readonly perTopic: number
  readonly concurrency: number
  readonly seed: number
}

type Seen = Pick<WireSample, 'packets' | 'resetMs' | 'totalMs'>
/** One leg in one shape. */
type Way = { ask(call: Call, body: Job['body']): Promise<Seen>; stop(): Promise<void> }

/** All at once would be a load that no call has later. */
const betweenStartsMs = 150

export async function recordWire(options: WireOptions): Promise<void> {
  const calls = planCalls(options)
  const replies = new Map<string, ScriptedReply>()
  const server = startScriptedServer({
    ...{ kind: 'vllm', models: ['scripted', 'embed'], embedModels: ['embed'] },
    ...{ contextLength: 100_000, cache: 'none' },
    reply: ({ last }) => replies.get(/question (\d+)/.exec(last)?.[1] ?? ''),
  })
  const stack = await runStack(['--engineUrl', server.url])
  const clients = await startClients(stack.ca)
  writeFileSync(options.path, '')
  const ways = new Map<string, Way>()
  let [next, done, failed] = [0, 0, 0]
  const play = async (_: unknown, player: number) => {
    await Bun.sleep(player * betweenStartsMs)
    for (let index = next++; index < calls.length; index = next++) {
      const call = calls[index] as Call
      try {
        const way = ways.get(`${call.leg} ${call.shape}`) as Way
        const sample = await playCall(call, index, way, replies)
        appendFileSync(options.path, `${JSON.stringify(sample)}\n`)
        if (++done % 200 === 0) console.log(`${done} of ${calls.length} recorded, ${failed} failed`)
      } catch (error) {
        if (++failed < 20) console.error('a call failed:', call, error)
      }
      if (index % 50 === 0) server.requests.splice(0)
    }
  }
  try {
    for (const leg of legs) {
      for (const shape of shapes) {
        const open = leg === 'sealed' ? openSealed : openProxyless
        ways.set(`${leg} ${shape}`, await open(stack, shape, clients))
      }
    }
    await Promise.all(Array.from({ length: options.concurrency }, play))
    console.log(`${done} of ${calls.length} recorded, ${failed} failed`)
  } finally {
    for (const way of ways.values()) await way.stop()
    clients.stop()
    await stack.stop()
    await server.stop()
  }
}

async function playCall(
  call: Call,
  index: number,
  way: Way,
  replies: Map<string, ScriptedReply>,
): Promise<WireSample> {
  const id = String(1_000_000 + index)
  const question = { role: 'user', content: `question ${id}, and the same words for all` }
  replies.set(id, replyOf(call, index))
  try {
    if (call.kind !== 'conversation') {
      return { ...call, ...(await way.ask(call, bodyOf(call, [question]))) }
    }
    // Some pages were said before; the second request has the answer to the first in it.
    const pages = { role: 'user', content: 'some pages of text. '.repeat(400) }
    const first = [pages, { role: 'assistant', content: 'yes' }, question]
    const opening = await way.ask(call, bodyOf(call, first))
    const said = { role: 'assistant', content: wordsOf(call, index).join('') }
    replies.set(id, { tokens: wordsOf({ ...call, tokens: 30 }, index), paceMs: 20, prefillMs: 150 })
    const seen = await way.ask(call, bodyOf(call, [...first, said, question]))
    return { ...call, ...seen, firstRequestBytes: requestBytes(opening) }
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
    model: 'scripted',
    messages,
    ...(call.client.startsWith('anthropic') ? { max_tokens: 4096 } : {}),
    ...(call.kind === 'whole' ? {} : { stream: true }),
    ...(call.kind === 'tools' ? { tools } : {}),
  }
}

function replyOf(call: Call, seed: number): ScriptedReply {
  const { kind, paceMs } = call
  if (isErrorCall(call)) return { error: { status: 400, message: 'not this way' } }
  if (kind !== 'tools') return { tokens: wordsOf(call, seed), paceMs, prefillMs: 150 }
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
