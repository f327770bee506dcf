/**
 * Records what a watcher of the network sees of calls by the official OpenAI client, on both legs:
 * between proxy and gateway, and between a plain HTTPS client and the proxyless endpoint.
 *
 * A relay on TCP notes time, direction and size of every piece, and who closed the connection when.
 */
import { appendFileSync, writeFileSync } from 'node:fs'
import OpenAI from 'openai'
import type { ScriptedReply } from '../../packages/inference/src/testing/scripted-model.ts'
import { startScriptedServer } from '../../packages/inference/src/testing/scripted-server.ts'
import { startExtraProxy } from '../../test/clients/extra-proxies.ts'
import { type RunningStack, runStack } from '../../test/e2e/running-stack.ts'
import { startWireTap } from '../../test/shape/wire-tap.ts'
import { type DrawnAnswer, drawAnswers } from './length-curve.ts'
import type { SeenExchange } from './record-exchange.ts'
import { startRecordingRelay } from './recording-relay.ts'
import { seededRandom } from './seeded-random.ts'

const shapes = ['off', 'default', 'strict'] as const
const legs = ['sealed', 'proxyless'] as const
const kinds = ['stream', 'whole'] as const

export type WireSample = {
  readonly leg: (typeof legs)[number]
  readonly shape: (typeof shapes)[number]
  readonly kind: (typeof kinds)[number]
  readonly topic: number
  readonly tokens: number
  /** Milliseconds since the first byte of the request, bytes, and whether they were of the answer. */
  readonly packets: readonly (readonly [atMs: number, bytes: number, answer: 0 | 1])[]
  /** When the connection was closed before the answer had ended. */
  readonly resetMs: number | null
  /** As the application saw it. */
  readonly totalMs: number
}

export type WireOptions = {
  readonly path: string
  readonly perTopic: number
  readonly topics: number
  readonly tokensPerSecond: number
  readonly concurrency: number
  readonly seed: number
}

const callLimitMs = 400_000

export async function recordWire(options: WireOptions): Promise<void> {
  const { topics, perTopic, tokensPerSecond, seed } = options
  const random = seededRandom(seed)
  const answers = drawAnswers({ topics, tokensPerSecond }, random, perTopic)
  const replies = new Map<number, ScriptedReply>()
  const server = startScriptedServer({
    ...{ kind: 'vllm', models: ['scripted'], contextLength: 100_000, cache: 'none' },
    reply: ({ body }) => replies.get(Number(body.seed)),
  })
  const stack = await runStack(['--engineUrl', server.url])
  writeFileSync(options.path, '')
  try {
    for (const shape of shapes) {
      for (const leg of legs) {
        for (const kind of kinds) {
          const cell = { stack, replies, shape, leg, kind, options }
          await recordCell(cell, answers)
          server.requests.splice(0)
        }
      }
    }
  } finally {
    await stack.stop()
    await server.stop()
  }
}

type Cell = {
  readonly stack: RunningStack
  readonly replies: Map<number, ScriptedReply>
  readonly shape: WireSample['shape']
  readonly leg: WireSample['leg']
  readonly kind: WireSample['kind']
  readonly options: WireOptions
}

async function recordCell(cell: Cell, answers: readonly DrawnAnswer[]): Promise<void> {
  const { options, shape, leg, kind } = cell
  const way = leg === 'sealed' ? await openSealed(cell) : await openProxyless(cell)
  let [next, done, failed] = [0, 0, 0]
  const play = async () => {
    for (let index = next++; index < answers.length; index = next++) {
      const answer = answers[index]
      if (answer === undefined) return
      const seed = 100_000 + index
      const { topic, tokens, paceMs } = answer
      cell.replies.set(seed, { tokens: textOf(answer, seed), paceMs, prefillMs: 150 })
      try {
        const seen = await way.call(seed)
        const sample: WireSample = { leg, shape, kind, topic, tokens, ...seen }
        appendFileSync(options.path, `${JSON.stringify(sample)}\n`)
        done++
      } catch (error) {
        if (++failed < 4) console.error('a call failed:', error)
      }
      cell.replies.delete(seed)
    }
  }
  // Strict calls are mostly silence, and long.
  const atATime = options.concurrency * (shape === 'strict' ? 3 : 1)
  await Promise.all(Array.from({ length: atATime }, play))
  await way.close()
  console.log(`${leg}, ${shape}, ${kind}: ${done} recorded, ${failed} failed`)
}

type Seen = Pick<WireSample, 'packets' | 'resetMs' | 'totalMs'>
type Way = { call(seed: number): Promise<Seen>; close(): Promise<void> }

/** Exchanges share connections; the relay tells them apart by the id in their clear headers. */
async function openSealed({ stack, shape, kind }: Cell): Promise<Way> {
  const over = new Map<string, SeenExchange>()
  const relay = startRecordingRelay(stack.gatewayUrl, (exchange) => {
    over.set(exchange.requestId, exchange)
  })
  const { process: proxy } = await startExtraProxy(stack, {
    ...{ apiEndpoint: relay.url, apiKey: stack.apiKey, args: ['--trafficShape', shape] },
  })
  const client = clientAt(proxy.url, stack.apiKey)
  return {
    async call(seed) {
      const { requestId, totalMs } = await ask(client, kind, seed)
      const deadlineMs = performance.now() + callLimitMs
      while (!over.has(requestId) && performance.now() < deadlineMs) await Bun.sleep(20)
      const seen = over.get(requestId)
      over.delete(requestId)
      if (seen === undefined) throw new Error('the exchange never ended')
      const packets = seen.packets.map(([atMs, bytes]) => [atMs, bytes, 1] as const)
      return { packets: [[0, seen.upBytes, 0], ...packets], resetMs: seen.cutMs, totalMs }
    },
    async close() {
      await proxy.stop()
      relay.stop()
    },
  }
}

/** Every call has a connection, and a relay, of its own. */
async function openProxyless({ stack, shape, kind }: Cell): Promise<Way> {
  const { process: proxy } = await startExtraProxy(stack, {
    ...{ hosted: true, cold: true, args: ['--trafficShape', shape] },
  })
  const trusted = ((to: string, init: RequestInit) =>
    fetch(to, { ...init, keepalive: false, tls: { ca: stack.ca } } as RequestInit)) as typeof fetch
  return {
    async call(seed) {
      const tap = startWireTap(proxy.url)
      try {
        const url = `https://localhost:${tap.port}`
        const { totalMs } = await ask(clientAt(url, stack.apiKey, trusted), kind, seed)
        const [connection] = tap.connections
        const startMs = connection?.seen[0]?.atMs ?? 0
        const packets = (connection?.seen ?? []).map(
          ({ atMs, bytes, answer }) => [atMs - startMs, bytes, answer ? 1 : 0] as const,
        )
        return { packets, resetMs: null, totalMs }
      } finally {
        tap.stop()
      }
    },
    close: () => proxy.stop(),
  }
}

function clientAt(url: string, apiKey: string, fetch?: typeof globalThis.fetch): OpenAI {
  return new OpenAI({
    ...{ baseURL: `${url}/v1`, apiKey, maxRetries: 0, timeout: callLimitMs },
    ...(fetch === undefined ? {} : { fetch }),
  })
}

async function ask(
  client: OpenAI,
  kind: WireSample['kind'],
  seed: number,
): Promise<{ requestId: string; totalMs: number }> {
  const started = performance.now()
  const messages = [{ role: 'user' as const, content: 'the same question for all' }]
  const body = { model: 'scripted', messages, seed }
  if (kind === 'whole') {
    const { response } = await client.chat.completions.create(body).withResponse()
    return resultOf(response, started)
  }
  const { data, response } = await client.chat.completions
    .create({ ...body, stream: true })
    .withResponse()
  for await (const _ of data) {
    // Reads until the client itself says that there is no more.
  }
  return resultOf(response, started)
}

const resultOf = (response: Response, started: number) => ({
  requestId: response.headers.get('x-request-id') ?? '',
  totalMs: performance.now() - started,
})

const words = ['a', 'of', 'the', 'with', 'token', 'length', 'another', 'different', 'considerable']

/** Topics differ in the lengths of their tokens, too, as they do in life. */
function textOf({ topic, tokens }: DrawnAnswer, seed: number): string[] {
  const random = seededRandom(seed)
  const pick = () => words[Math.min(8, Math.floor(random.next() * 7 + (topic % 3)))] ?? 'a'
  return Array.from({ length: Math.round(tokens) }, () => ` ${pick()}`)
}
