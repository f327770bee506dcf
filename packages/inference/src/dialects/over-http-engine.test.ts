/** The API core on top of the HTTP engine: what only the combination can show. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Engine, JsonObject } from '../engine.ts'
import { connectHttpEngine } from '../servers/http-engine.ts'
import { ask } from '../testing/ask.ts'
import { closeAfterEach, connect } from '../testing/connected-engine.ts'
import { type ScriptedServer, startScriptedServer } from '../testing/scripted-server.ts'

const chatPath = '/v1/chat/completions'
closeAfterEach()

const model = 'scripted'
const long = Array.from({ length: 100 }, (_, i) => `w${i}`).join(' ')
const saltOf = (letter: string) => letter.repeat(44)
const chat = (content: string, fields: JsonObject = {}) => ({
  model,
  messages: [{ role: 'user', content }],
  ...fields,
})

let server: ScriptedServer
let engine: Engine
beforeAll(async () => {
  server = startScriptedServer({ contextLength: 500 })
  engine = await connectHttpEngine({ baseUrl: server.url })
})
afterAll(async () => {
  await engine.close()
  await server.stop()
})

describe('prompt caching', () => {
  test('check 58: the same salt hits the prompt cache, another salt does not', async () => {
    const cached = async (cache_salt: string) =>
      (await ask(engine, chatPath, chat(long, { cache_salt }))).json.usage.prompt_tokens_details
    expect(await cached(saltOf('a'))).toEqual({ cached_tokens: 0 })
    expect((await cached(saltOf('a'))).cached_tokens).toBeGreaterThan(64)
    expect(await cached(saltOf('b'))).toEqual({ cached_tokens: 0 })
  })

  test('check 59: without a salt there are no cache hits', async () => {
    await ask(engine, chatPath, chat(long))
    const { json } = await ask(engine, chatPath, chat(long))
    expect(json.usage.prompt_tokens_details.cached_tokens).toBe(0)
  })

  test('check 83: messages isolate salts as chat does, and report nothing cached', async () => {
    const send = (cache_salt: string) =>
      ask(engine, '/v1/messages', { ...chat(`m ${long}`, { cache_salt }), max_tokens: 20 })
    server.requests.length = 0
    const first = await send(saltOf('c'))
    const again = await send(saltOf('c'))
    const other = await send(saltOf('d'))
    expect(again.answer.usage().cachedTokens).toBeGreaterThan(64)
    expect(other.answer.usage().cachedTokens).toBe(0)
    // check 81: input_tokens is the whole prompt, cached or not
    expect(again.json.usage).toEqual(first.json.usage)
    expect(again.json.usage.cache_read_input_tokens).toBe(0)
    expect(server.requests.some(({ path }) => path.includes('messages'))).toBe(false)
  })
})

describe('context', () => {
  test('check 40: a prompt that fits is answered, however much output was requested', async () => {
    for (const stream of [false, true]) {
      const body = chat(long, { max_tokens: 32_000, stream })
      expect((await ask(engine, chatPath, body)).status).toBe(200)
    }
  })

  test('it is answered whatever words a server refuses it with', async () => {
    for (const kind of ['vllm', 'sglang'] as const) {
      const { engine } = await connect({ kind, contextLength: 500 })
      for (const max_tokens of [450, 32_000])
        for (const stream of [false, true])
          expect([
            kind,
            max_tokens,
            (await ask(engine, chatPath, chat(long, { max_tokens, stream }))).status,
          ]).toEqual([kind, max_tokens, 200])
      const { json } = await ask(engine, chatPath, chat(`${long} `.repeat(6)))
      expect([kind, json.error.code]).toEqual([kind, 'context_length_exceeded'])
    }
  })

  test('a completion’s limit is reduced as well, by the longest of its prompts', async () => {
    for (const stream of [false, true])
      for (const prompt of ['word', [long, 'word'], [[1, 2, 3]]]) {
        const body = { model, prompt, max_tokens: 32_000, stream }
        const { status, answer } = await ask(engine, '/v1/completions', body)
        expect([status, answer.outcome()]).toEqual([200, 'complete'])
      }
    const tooLong = { model, prompt: `${long} `.repeat(6), max_tokens: 32_000 }
    const { status, json } = await ask(engine, '/v1/completions', tooLong)
    expect([status, json.error.code]).toEqual([400, 'context_length_exceeded'])
  })

  test('check 41: a prompt that does not fit is reported with its true length', async () => {
    const { status, json } = await ask(engine, chatPath, chat(`${long} `.repeat(6)))
    expect([status, json.error.code]).toEqual([400, 'context_length_exceeded'])
    expect(json.error.message).toContain('maximum context length is 500 tokens')
    expect(json.error.message).toContain('601 in the messages')
  })

  test('check 80: and in the wording of the messages dialect', async () => {
    const body = { ...chat(`${long} `.repeat(6)), max_tokens: 10, stream: true }
    const { status, json } = await ask(engine, '/v1/messages', body)
    expect([status, json.error.message]).toEqual([
      400,
      'prompt is too long: 601 tokens > 500 maximum',
    ])
  })
})

describe('counts', () => {
  test('cached tokens are reported if the server reports them, and never made up', async () => {
    for (const reportsCache of [true, false]) {
      const { engine } = await connect({ reportsCache, native: ['responses'] })
      for (const stream of [false, true]) {
        const fields = stream ? { stream, stream_options: { include_usage: true } } : {}
        const got = await ask(engine, chatPath, chat(long, fields))
        const usage = stream ? got.events.at(-2)?.data.usage : got.json.usage
        expect('prompt_tokens_details' in usage).toBe(reportsCache)
        const text = await ask(engine, '/v1/completions', { model, prompt: long, ...fields })
        const told = stream ? text.events.at(-2)?.data.usage : text.json.usage
        expect('prompt_tokens_details' in told).toBe(reportsCache)
        const response = await ask(engine, '/v1/responses', { model, input: long, stream })
        const end = stream ? response.events.at(-1)?.data.response.usage : response.json.usage
        expect('input_tokens_details' in end).toBe(reportsCache)
      }
    }
  })

  test('check 82: count_tokens equals what the same message then costs', async () => {
    const body = {
      ...chat('how many?'),
      system: [{ type: 'text', text: 'be brief' }],
      tools: [{ name: 'f', description: 'does it', input_schema: { type: 'object' } }],
    }
    const counted = await ask(engine, '/v1/messages/count_tokens', body)
    const message = await ask(engine, '/v1/messages', { ...body, max_tokens: 20 })
    expect(counted.json.input_tokens).toBe(message.json.usage.input_tokens)
  })

  test('check 73: message_start already reports the prompt tokens', async () => {
    const body = { ...chat('hello there'), max_tokens: 20, stream: true }
    const { events } = await ask(engine, '/v1/messages', body)
    expect(events[0]?.data.message.usage.input_tokens).toBe(3)
  })

  test('check 39: both names limit the output, and the finish reason says so', async () => {
    for (const name of ['max_tokens', 'max_completion_tokens']) {
      const { json } = await ask(engine, chatPath, chat('[[words 50]]', { [name]: 5 }))
      expect(json.choices[0].finish_reason).toBe('length')
      expect(json.usage.completion_tokens).toBe(5)
    }
  })
})

describe('tools', () => {
  const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }]

  test('check 48: a tool is called, its result sent back, and the answer follows', async () => {
    const question = { role: 'user', content: '[[tool look {"at":"sky"}]]' }
    const first = await ask(engine, chatPath, { model, messages: [question], tools })
    const { message, finish_reason } = first.json.choices[0]
    expect(finish_reason).toBe('tool_calls')
    expect(JSON.parse(message.tool_calls[0].function.arguments)).toEqual({ at: 'sky' })
    const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'blue' }
    const second = await ask(engine, chatPath, {
      model,
      messages: [question, message, result],
      tools,
    })
    expect(second.json.choices[0].message.content).toBe('The tool said: blue')
  })

  test('check 53: a stop string ends the text before itself and is reported', async () => {
    const { json } = await ask(engine, chatPath, chat('[[say one two three]]', { stop: [' two'] }))
    expect(json.choices[0]).toMatchObject({ message: { content: 'one' }, stop_reason: ' two' })
  })
})

describe('vLLM with its Rust frontend', () => {
  const rust = { frontend: 'rust', version: '0.33.0' } as const

  test('a refusal after the role of a stream is a status, in every dialect', async () => {
    const { engine } = await connect(rust)
    const late = '[[late 400 Invalid structured output: SECRET]]'
    const requests: [string, JsonObject][] = [
      [chatPath, chat(late, { stream: true })],
      ['/v1/messages', { ...chat(late, { stream: true }), max_tokens: 20 }],
      ['/v1/responses', { model, input: late, stream: true }],
    ]
    for (const [path, body] of requests) {
      const { status, json, text } = await ask(engine, path, body)
      expect([path, status, json.error.type]).toEqual([path, 400, 'invalid_request_error'])
      expect(text).not.toContain('SECRET')
    }
  })

  test('what it lacks is translated, and a stream begins with its role', async () => {
    const { engine } = await connect(rust)
    const { events } = await ask(engine, chatPath, chat('hello', { stream: true }))
    expect(events[0]?.data.choices[0].delta).toEqual({ role: 'assistant', content: '' })
    const roles = events.filter(({ data }) => data.choices?.[0]?.delta.role !== undefined)
    expect(roles).toHaveLength(1)
    const message = await ask(engine, '/v1/messages', { ...chat('hello'), max_tokens: 20 })
    expect([message.status, message.json.content[0].text]).toEqual([200, 'You said: hello'])
  })
})
