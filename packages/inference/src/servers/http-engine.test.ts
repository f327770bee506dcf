/** The HTTP engine against a scripted model server: calls, streams, aborts, failures, health. */
import { describe, expect, test } from 'bun:test'
import { Secret } from '@privatemode/service'
import { rejection } from '../../../../test/rejection.ts'
import type { EngineUsage, JsonObject } from '../engine.ts'
import {
  callOf,
  chat,
  closeAfterEach,
  connect,
  connectTo,
  serve,
  streamed,
} from '../testing/connected-engine.ts'

closeAfterEach()

describe('calls', () => {
  test('an unstreamed answer includes its usage', async () => {
    const { engine } = await connect()
    let usage: EngineUsage | undefined
    const answer = await engine.call(callOf(chat('hello there'), { onUsage: (u) => (usage = u) }))
    expect(answer).toMatchObject({
      kind: 'complete',
      body: { choices: [{ message: { content: 'You said: hello there' } }] },
    })
    expect(usage).toEqual({ promptTokens: 3, cachedTokens: 0, completionTokens: 4 })
  })

  test('a stream arrives in chunks, and counts are known after each', async () => {
    const { engine } = await connect()
    const seen: number[] = []
    const onUsage = (usage: EngineUsage) => seen.push(usage.completionTokens)
    const chunks = await streamed(engine, callOf(chat('hello'), { onUsage }))
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 3 } })
    expect(seen.slice(0, 3)).toEqual([1, 2, 3])
  })

  test('usage is always requested, the salt is always passed, and no server control is exposed', async () => {
    const apiKey = new Secret('server-key')
    const { server, engine } = await connect({}, { apiKey })
    await streamed(engine, callOf(chat('a')))
    await engine.call(callOf(chat('a')))
    await engine.call(
      callOf(
        { model: 'scripted', prompt: 'a', cache_salt: 'x'.repeat(44) },
        { endpoint: 'completions' },
      ),
    )
    await engine.call(
      callOf(
        { model: 'scripted', input: 'a', cache_salt: 'x'.repeat(44) },
        { endpoint: 'embeddings' },
      ),
    )
    expect(server.requests[0]?.body.stream_options).toEqual({
      include_usage: true,
      continuous_usage_stats: true,
    })
    for (const { body, headers } of server.requests) {
      expect(String(body.cache_salt)).toMatch(/^[0-9a-f]{64}$/)
      expect(headers.get('authorization')).toBe('Bearer server-key')
      expect([...headers.keys()].filter((name) => name.startsWith('x-'))).toEqual([])
    }
  })

  test('an unstreamed answer is requested as a stream, unless that could lose something', async () => {
    const { server, engine } = await connect()
    const wasStream = async (fields: JsonObject) => {
      await engine.call(callOf(chat('a', fields)))
      return server.requests.at(-1)?.body.stream
    }
    expect(await wasStream({ n: 2, logprobs: true, tools: [] })).toBe(true)
    const tools = [{ type: 'function', function: { name: 'f' } }]
    const returned = { return_token_ids: true }
    for (const fields of [{ tools }, { prompt_logprobs: 1 }, { use_beam_search: true }, returned])
      expect([fields, await wasStream(fields)]).toEqual([fields, false])
    expect(await wasStream({ return_token_ids: false })).toBe(true)
    // Others omit the log probabilities of tokens without text in their streams.
    for (const [kind, asStream] of [
      ['sglang', [true, false, false]],
      ['llama-server', [true, false, false]],
      ['ollama', [false, false, false]],
    ] as const) {
      const other = await connect({ kind }, { acceptSharedCache: true })
      await other.engine.call(callOf(chat('a')))
      for (const field of ['logprobs', 'n_probs'])
        await other.engine.call(callOf(chat('a', { [field]: 1 })))
      expect(other.server.requests.map(({ body }) => body.stream)).toEqual([...asStream])
    }
  })

  test('every choice is billed even if the server counts only one in an unstreamed answer', async () => {
    const { server, engine } = await connect({ kind: 'llama-server' })
    const tools = [{ type: 'function', function: { name: 'look' } }]
    const order = '[[tool look {"at":"sky"}]]'
    const bill = async (words: string, fields: JsonObject) => {
      const told: EngineUsage[] = []
      const call = { ...callOf(chat(words, fields)), onUsage: (one: EngineUsage) => told.push(one) }
      const { body } = (await engine.call(call)) as unknown as { body: { choices: JsonObject[] } }
      const wasStream = server.requests.at(-1)?.body.stream
      return { wasStream, tokens: told.at(-1)?.completionTokens, choices: body.choices }
    }
    const one = await bill(order, { tools })
    const two = await bill(order, { tools, n: 2 })
    expect([one.wasStream, two.wasStream]).toEqual([false, true])
    expect(two.tokens).toBe(2 * Number(one.tokens))
    const calls = ({ choices }: typeof one) =>
      choices.map(({ message }) => (message as JsonObject).tool_calls)
    expect(calls(two)).toEqual([...calls(one), ...calls(one)])
    // Log probabilities are complete only in unstreamed answers, where they count the tokens.
    const scored = await bill('[[words 9]]', { n: 3, logprobs: true, top_logprobs: 1 })
    expect(scored.wasStream).toBe(false)
    expect(scored.tokens).toBe(3 * Number((await bill('[[words 9]]', {})).tokens))
  })

  test('requests beyond the limit get a retry time', async () => {
    const { engine } = await connect({}, { maxConcurrent: 1 })
    const slow = engine.call(callOf(chat('[[slow 50]] a')))
    expect(await rejection(engine.call(callOf(chat('b'))))).toMatchObject({
      code: 'overloaded',
      retryAfterSeconds: 1,
    })
    await slow
    expect((await engine.call(callOf(chat('c')))).kind).toBe('complete')
  })

  test('token counts match what the chat would cost', async () => {
    for (const kind of ['vllm', 'sglang', 'llama-server', 'ollama'] as const) {
      const { engine } = await connect({ kind }, { acceptSharedCache: true })
      const body = chat('one two three', { tools: [{ type: 'function', function: { name: 'f' } }] })
      const counted = await engine.countTokens(body)
      const answer = await engine.call(callOf(body))
      const { usage } = (answer as unknown as { body: { usage: JsonObject } }).body
      expect([kind, counted]).toEqual([kind, Number(usage.prompt_tokens)])
    }
  })
})

describe('failures', () => {
  test('a server that dies in a stream is a failure, and a retry works', async () => {
    const { engine } = await connect()
    expect(await rejection(streamed(engine, callOf(chat('[[words 9]] [[die 3]]'))))).toMatchObject({
      code: 'engine_failed',
    })
    expect(await streamed(engine, callOf(chat('again')))).not.toHaveLength(0)
  })

  test('an error event in a stream is a failure', async () => {
    const { engine } = await connect()
    expect(await rejection(streamed(engine, callOf(chat('[[words 9]] [[fail 3]]'))))).toMatchObject(
      {
        code: 'engine_failed',
      },
    )
  })

  test('a server that is silent for too long is aborted', async () => {
    const { engine } = await connect({}, { silenceMs: 400 })
    expect(await rejection(engine.call(callOf(chat('[[slow 20000]]'))))).toMatchObject({
      code: 'engine_failed',
    })
  })

  test('a prompt that is too long is reported as such, although the server miscounts it', async () => {
    const { engine } = await connect({ contextLength: 20 })
    const refused = engine.call(callOf(chat('a '.repeat(40))))
    expect(await rejection(refused)).toMatchObject({
      code: 'context_length_exceeded',
      promptTokens: undefined,
    })
  })

  test('other refusals keep their kind but not what they quote', async () => {
    const { engine } = await connect()
    const ask = (order: string) => engine.call(callOf(chat(`[[error ${order}]]`, { top_k: 3 })))
    expect(
      await rejection(ask("400 bad 'top_k' for input 'SECRET words' {'a': 'SECRET'}")),
    ).toMatchObject({
      code: 'invalid_value',
      message: 'the model server refused the request: bad top_k for input …',
    })
    for (const [text, shown] of [
      ['Grammar error: Invalid type: SECRET', 'Grammar error: Invalid type: …'],
      ['SECRET words', ''],
      ['top_k must be a number, not 4711', 'top_k must be a number, not …'],
    ])
      expect(await rejection(ask(`400 ${text}`))).toMatchObject({
        message: `the model server refused the request${shown === '' ? '' : `: ${shown}`}`,
      })
    expect(await rejection(ask('429 slow down'))).toMatchObject({ code: 'overloaded' })
    expect(await rejection(ask('500 SECRET'))).toMatchObject({
      code: 'engine_failed',
      message: 'the model server answered 500',
    })
    expect(await rejection(ask('401 no'))).toMatchObject({ code: 'engine_unavailable' })
    expect(await rejection(ask('501 no'))).toMatchObject({ code: 'unsupported_value' })
  })

  test('redirects of a prompt are not followed', async () => {
    const elsewhere = serve()
    const { server, engine } = await connect()
    server.change({ redirectTo: elsewhere.url })
    expect(await rejection(engine.call(callOf(chat('a'))))).toMatchObject({ code: 'engine_failed' })
    expect(elsewhere.requests).toHaveLength(0)
  })

  test('an unreachable server is reported as unavailable', async () => {
    const { server, engine } = await connect()
    await server.stop()
    expect(await rejection(engine.call(callOf(chat('a'))))).toMatchObject({
      code: 'engine_unavailable',
    })
    expect(await rejection(connectTo(server.url))).toMatchObject({
      code: 'engine_unavailable',
    })
  })
})
