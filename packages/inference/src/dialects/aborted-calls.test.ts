/** Requests aborted before the server has reported any count: their prompts are still counted. */
import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../engine.ts'
import type { HttpEngineSettings, ServerKind } from '../servers/http-settings.ts'
import { ask, start } from '../testing/ask.ts'
import { closeAfterEach } from '../testing/connected-engine.ts'
import { connect, model } from '../testing/native-dialects.ts'
import type { ScriptedServerOptions } from '../testing/scripted-server.ts'
import { until } from '../testing/until.ts'

closeAfterEach()

const order = '[[slow 60000]] one two'
const messages = [{ role: 'user', content: order }]
/** Five tokens each: the role, if any, and the words of the instruction. */
const endpoints: [string, JsonObject, number][] = [
  ['/v1/chat/completions', { model, messages }, 5],
  ['/v1/chat/completions', { model, messages, n: 3 }, 5],
  ['/v1/completions', { model, prompt: order }, 4],
  ['/v1/completions', { model, prompt: [order, 'three'] }, 5],
  ['/v1/messages', { model, messages, max_tokens: 9 }, 5],
  ['/v1/responses', { model, input: order }, 5],
]

async function usageAfterAbort(
  kind: ServerKind,
  path: string,
  body: JsonObject,
  options: ScriptedServerOptions = {},
): Promise<JsonObject> {
  const { server, engine } = await connect({ kind }, false, { acceptSharedCache: true })
  server.change(options)
  const aborter = new AbortController()
  const answering = ask(engine, path, body, { signal: aborter.signal })
  await until(() => server.requests.length > 0)
  aborter.abort()
  const { answer } = await answering
  expect(answer.outcome()).toBe('aborted')
  return answer.usage()
}

describe('before the first token', () => {
  for (const [path, body, promptTokens] of endpoints)
    for (const stream of [true, false]) {
      const { n = 1 } = body
      const name = `${path} ${stream ? 'streamed' : 'whole'}, ${n} choices of ${promptTokens} tokens`
      test(`the prompt of ${name} is counted`, async () => {
        const usage = await usageAfterAbort('vllm', path, { ...body, stream })
        expect(usage).toMatchObject({ promptTokens, cachedTokens: 0, completionTokens: 0 })
      })
    }

  test('other servers are asked in their own way', async () => {
    for (const kind of ['sglang', 'llama-server'] as const)
      for (const stream of [true, false]) {
        const completion = { model, prompt: [order, 'three'], stream }
        expect(await usageAfterAbort(kind, '/v1/completions', completion)).toMatchObject({
          promptTokens: 5,
        })
        const chat = { model, messages, stream }
        expect(await usageAfterAbort(kind, '/v1/chat/completions', chat)).toMatchObject({
          promptTokens: 5,
        })
      }
  })

  test('a server without a tokenizer is asked for one token of the same chat', async () => {
    const slow = { model, messages: [{ role: 'user', content: '[[slow 300]] one' }] }
    for (const kind of ['vllm', 'sglang', 'ollama'] as const) {
      const lacking = { kind, lacksPaths: ['/tokenize'] }
      const usage = await usageAfterAbort(kind, '/v1/chat/completions', slow, lacking)
      expect([kind, usage.promptTokens]).toEqual([kind, 4])
    }
  })

  test('a request aborted before it reached the server costs nothing', async () => {
    const { server, engine } = await connect()
    const signal = AbortSignal.abort()
    for (const [path, body] of endpoints) {
      const { answer } = await ask(engine, path, body, { signal })
      expect(answer.usage()).toMatchObject({
        promptTokens: 0,
        cachedTokens: 0,
        completionTokens: 0,
      })
    }
    expect(server.requests).toHaveLength(0)
  })

  test('if no server counts it, the prompt is estimated', async () => {
    for (const kind of ['ollama', 'generic'] as const) {
      const usage = await usageAfterAbort(kind, '/v1/completions', { model, prompt: order })
      expect(usage).toMatchObject({ promptTokens: Math.ceil((order.length + 2) / 4) })
    }
  })

  test('texts to embed are counted, even very many and as token ids', async () => {
    const many = Array.from({ length: 40 }, () => 'one two')
    for (const [input, promptTokens] of [
      ['one two three', 3],
      [['one', 'two three'], 3],
      [[7, 8, 9, 10], 4],
      [[[7, 8], [9]], 3],
      [many, 80],
    ]) {
      const usage = await usageAfterAbort(
        'vllm',
        '/v1/embeddings',
        { model, input } as JsonObject,
        {
          prefillMsPerToken: 60_000,
        },
      )
      expect(usage).toMatchObject({ promptTokens, cachedTokens: 0, completionTokens: 0 })
    }
  })
})

describe('after the answer has started without a token', () => {
  const settings: Partial<HttpEngineSettings> = { countWaitingMs: 5, acceptSharedCache: true }
  const times = { keepAliveMs: 10_000, commitMs: 100 }

  test('the prompt count is known the moment the stream is aborted', async () => {
    for (const kind of ['vllm', 'sglang', 'llama-server'] as const)
      for (const [path, body] of endpoints.filter(([path]) => /chat|messages/.test(path))) {
        const { engine } = await connect({ kind }, false, settings)
        const aborter = new AbortController()
        const stream = { ...body, stream: true }
        const got = await start(engine, path, stream, { signal: aborter.signal, times })
        const reader = (got.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
        await reader.next()
        await until(() => got.usage().promptTokens > 0)
        aborter.abort()
        expect([kind, path, got.usage().promptTokens]).toEqual([kind, path, 5])
        await reader.return?.()
      }
  })

  test('counting in parallel does not affect an answer that completes', async () => {
    const { server, engine } = await connect({}, false, settings)
    const body = { model, messages: [{ role: 'user', content: '[[slow 500]] hi' }], stream: true }
    const { answer } = await ask(engine, '/v1/chat/completions', body)
    expect(server.requests.map(({ path }) => path)).toContain('/tokenize')
    expect(answer.usage()).toMatchObject({ promptTokens: 4, cachedTokens: 0, completionTokens: 3 })
  })

  test('a stream that reports counts in time is not counted separately', async () => {
    const { server, engine } = await connect({}, false, { ...settings, countWaitingMs: 1500 })
    const messages = [{ role: 'user', content: '[[words 20]] [[pace 100]]' }]
    await ask(engine, '/v1/chat/completions', { model, messages, stream: true })
    expect(server.requests.map(({ path }) => path)).toEqual(['/v1/chat/completions'])
  })
})
