/**
 * The end of an answer, as an observer between proxy and gateway could see it: official clients close
 * their connection at the last event, and that must not show.
 */
import { afterAll, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { privateFetch } from '@privatemode/sdk'
import { unlessMissing } from '@privatemode/service/testing'
import OpenAI from 'openai'
import type { EngineCall } from '../../packages/inference/src/engine.ts'
import { ScriptedEngine } from '../../packages/inference/src/testing/scripted-engine.ts'
import { findPython } from '../clients/python-clients.ts'
import { startSystem } from '../e2e/system.ts'
import { startProxy } from '../proxy/proxy-process.ts'
import { shortShapes, shortUnits } from './short-shapes.ts'
import { startWireTap } from './wire-tap.ts'

const wordsOf = ({ body }: EngineCall) => Number(/say (\d+) words/.exec(JSON.stringify(body))?.[1])
const engine = new ScriptedEngine({
  // A non-streamed answer takes as long as its words.
  before: async (call) => {
    if (call.body.stream !== true) await Bun.sleep(20 + 4 * wordsOf(call))
  },
  deltas: Array.from({ length: 40 }, (_, index) => ({ content: `word${index} ` })),
  // Words take their time as long as they were asked for; the others follow at once.
  beforeChunk: async (index, call) => {
    const words = wordsOf(call)
    if (index < words) await Bun.sleep(words > 40 ? 1000 : 4)
  },
})
const system = await startSystem({ engines: [engine], shapeOf: shortShapes })
const tap = startWireTap(system.gatewayUrl)
const tapUrl = `http://127.0.0.1:${tap.port}`
const proxyWith = (shape: string) =>
  startProxy(system, {
    args: [...['--apiEndpoint', tapUrl], ...['--trafficShape', shape, '--apiKey', system.apiKey]],
  })
const proxies = { default: await proxyWith('default'), strict: await proxyWith('strict') }

afterAll(async () => {
  await Promise.all(Object.values(proxies).map((proxy) => proxy.stop()))
  tap.stop()
  await system.stop()
})

/** `fetch` is that of the SDK where no proxy is asked. */
type Ask = (url: string, words: number, fetch?: typeof globalThis.fetch) => Promise<string>
const model = 'org/chat-1'
const messages = (words: number) => [{ role: 'user' as const, content: `say ${words} words` }]

const clients: Record<string, Ask> = {
  'openai, chat': async (url, words, fetch = globalThis.fetch) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: system.apiKey, fetch })
    let text = ''
    const stream = await client.chat.completions.create({
      ...{ model, messages: messages(words), stream: true },
    })
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    return text
  },
  'openai, responses': async (url, words, fetch = globalThis.fetch) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: system.apiKey, fetch })
    let text = ''
    const stream = await client.responses.create({
      ...{ model, input: `say ${words} words`, stream: true },
    })
    for await (const event of stream) {
      if (event.type === 'response.output_text.delta') text += event.delta
    }
    return text
  },
  anthropic: async (url, words, fetch = globalThis.fetch) => {
    const client = new Anthropic({ baseURL: url, apiKey: system.apiKey, fetch })
    let text = ''
    const stream = await client.messages.create({
      ...{ model, max_tokens: 100, messages: messages(words), stream: true },
    })
    for await (const event of stream) {
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
        text += event.delta.text
      }
    }
    return text
  },
  'a client that closes at the last event': async (url, words) => {
    const gone = new AbortController()
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: messages(words), stream: true }),
      signal: gone.signal,
    })
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk)
      if (text.includes('[DONE]')) break
    }
    gone.abort()
    return text
  },
}

/** The Python client closes its connection at the last event, too; it is slow to start. */
const askFromPython =
  (python: string): Ask =>
  async (url, words) => {
    const program = `
import sys, openai
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none")
messages = [{"role": "user", "content": f"say {sys.argv[2]} words"}]
for chunk in client.chat.completions.create(model="${model}", messages=messages, stream=True):
    if chunk.choices: print(chunk.choices[0].delta.content or "", end="")
`
    const child = Bun.spawn([python, '-c', program, url, String(words)], { stdout: 'pipe' })
    return await new Response(child.stdout).text()
  }

/** What the proxy asks beside, such as who works, is far less than an answer that was cut would lack. */
const otherBytes = 8 * 1024

/** How long an answer was on the wire, once it ended or its connection was closed. */
async function answerBytes(ask: Ask, url: string, words: number): Promise<number> {
  tap.forget()
  const before = tap.answerBytes()
  expect(await ask(url, words)).toContain('word39')
  await paddingEnds()
  return tap.answerBytes() - before
}

async function paddingEnds(): Promise<void> {
  const deadline = Date.now() + 45_000
  while (!tap.hasLongAnswer() && Date.now() < deadline) await Bun.sleep(5)
}

/** A busy machine may need the next length; an answer that was cut would have none of them. */
async function expectLengthOfShape(
  ask: Ask,
  url: string,
  name: 'default' | 'strict',
): Promise<void> {
  const { unitBytes = 0, growth = 0 } = shortShapes(name).stream ?? {}
  for (const words of [2, 40]) {
    const bytes = await answerBytes(ask, url, words)
    const lengths = [0, 1, 2, 3].map((power) => shortUnits * growth ** power * (unitBytes + 21))
    const over = lengths.map((length) => bytes - length)
    expect(over.some((rest) => rest > 0 && rest < otherBytes)).toBe(true)
  }
}

for (const shape of ['default', 'strict'] as const) {
  for (const [name, ask] of Object.entries(clients)) {
    test(`${shape}, ${name}: the wire does not show when the answer was complete`, async () => {
      await expectLengthOfShape(ask, proxies[shape].url, shape)
    }, 240_000)
  }
}

test('default, openai, not streamed: the wire does not show when the answer was ready', async () => {
  const ask: Ask = async (url, words) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: system.apiKey })
    const answer = await client.chat.completions.create({ model, messages: messages(words) })
    return answer.choices[0]?.message.content ?? ''
  }
  await expectLengthOfShape(ask, proxies.default.url, 'default')
}, 120_000)

for (const shape of ['default', 'strict'] as const) {
  test(`${shape}, openai over the SDK: the wire does not show when the answer was complete`, async () => {
    const client = system.client({ endpoint: tapUrl, shape })
    await client.ready(system.apiKey)
    const fetch = privateFetch({ client, apiKey: system.apiKey, defaultSalt: undefined })
    for (const name of ['openai, chat', 'openai, responses', 'anthropic']) {
      const ask: Ask = async (url, words) =>
        (await clients[name]?.(url, words, fetch as typeof globalThis.fetch)) ?? ''
      await expectLengthOfShape(ask, tapUrl, shape)
    }
  }, 240_000)
}

test('default, openai over the SDK, not streamed: the answer is there before its padding', async () => {
  const client = system.client({ endpoint: tapUrl, shape: 'default' })
  await client.ready(system.apiKey)
  const fetch = privateFetch({ client, apiKey: system.apiKey, defaultSalt: undefined })
  const openai = new OpenAI({
    ...{ baseURL: `${tapUrl}/v1`, apiKey: system.apiKey, fetch: fetch as never },
  })
  const isEarly = async () => {
    tap.forget()
    await openai.chat.completions.create({ model, messages: messages(2) })
    return !tap.hasLongAnswer()
  }
  // A machine that is busy at that moment may get both at once.
  let tries = 0
  while (!(await isEarly())) expect(++tries).toBeLessThan(10)
  // It would count as a part of the next answer.
  await paddingEnds()
}, 120_000)

const python = findPython()
const noPython = python === undefined ? 'no Python with the openai package' : undefined
for (const shape of ['default', 'strict'] as const) {
  unlessMissing(noPython).test(
    `${shape}, openai for Python: nobody sees when the answer was whole`,
    async () => {
      await expectLengthOfShape(askFromPython(python ?? ''), proxies[shape].url, shape)
    },
    120_000,
  )
}

test('a client that gives up in mid-answer still stops the generation', async () => {
  for (const { url } of Object.values(proxies)) {
    const before = tap.connections.filter(({ closed }) => closed?.by === 'client').length
    engine.hasStopped = false
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
    const stream = await client.chat.completions.create({
      ...{ model, messages: messages(1_000_000), stream: true },
    })
    for await (const _ of stream) break
    const deadline = Date.now() + 30_000
    const isStopped = () =>
      tap.connections.filter(({ closed }) => closed?.by === 'client').length > before
    while (!isStopped() && Date.now() < deadline) await Bun.sleep(5)
    expect(isStopped()).toBe(true)
  }
}, 240_000)
