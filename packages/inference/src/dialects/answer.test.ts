/** What applies to every endpoint of the API core: bodies, models, salts and errors. */
import { describe, expect, test } from 'bun:test'
import { EngineError } from '../engine.ts'
import { ask } from '../testing/ask.ts'
import { chatModel, ScriptedEngine } from '../testing/scripted-engine.ts'

const chatPath = '/v1/chat/completions'
const messages = [{ role: 'user', content: 'hi' }]
const chat = { model: chatModel.id, messages }
const hello = () => new ScriptedEngine({ deltas: [{ content: 'Hel' }, { content: 'lo' }] })
const salt = 's'.repeat(44)

describe('bodies', () => {
  test.each([
    ['an array', '[]'],
    ['null', 'null'],
    ['half an object', '{"model":"m"'],
    ['a bad escape inside', '{"model":"m","messages":["\\x"]}'],
    ['a wrong comma inside', '{"model":"m","messages":[1,]}'],
  ])('check 12: %s is 400 in both dialects', async (_, body) => {
    const openAi = await ask(hello(), chatPath, body)
    expect([openAi.status, openAi.json.error.type]).toEqual([400, 'invalid_request_error'])
    const anthropic = await ask(hello(), '/v1/messages', body)
    expect([anthropic.status, anthropic.json.error.type]).toEqual([400, 'invalid_request_error'])
    expect(anthropic.json).toMatchObject({ type: 'error', request_id: expect.any(String) })
  })

  test('check 12: invalid UTF-8 is 400 with a message that says so', async () => {
    const bytes = new TextEncoder().encode(JSON.stringify(chat))
    bytes[bytes.indexOf(0x68)] = 0xff
    const { status, json } = await ask(hello(), chatPath, bytes)
    expect([status, json.error.code]).toEqual([400, 'invalid_json'])
  })

  test('a duplicate key is 400, even when spelled with escapes', async () => {
    const body = '{"model":"a","mod\\u0065l":"b","messages":[]}'
    expect((await ask(hello(), chatPath, body)).json.error.message).toContain("'model' twice")
  })

  test('an error never repeats the body', async () => {
    const bodies = ['{"model":"m","messages":["SECRET', '{"model":"m","messages":[SECRET]}']
    for (const body of bodies)
      expect((await ask(hello(), chatPath, body)).text).not.toContain('SECRET')
    const wrong = {
      ...chat,
      messages: [{ role: 'SECRET', content: 'SECRET' }],
      stop: ['', 'SECRET'],
    }
    expect((await ask(hello(), chatPath, wrong)).text).not.toContain('SECRET')
  })

  test('check 27: unknown fields are accepted and reach the engine unchanged', async () => {
    const engine = hello()
    const extra = { store: false, verbosity: 'low', min_tokens: 3, deep: { a: [1, null] } }
    expect((await ask(engine, chatPath, { ...chat, ...extra })).status).toBe(200)
    expect(engine.calls[0]?.body).toMatchObject(extra)
  })
})

describe('paths and headers', () => {
  test('check 06: an unknown path is 404 in the dialect of the path', async () => {
    expect((await ask(hello(), '/v1/audio', chat)).json.error.code).toBe('not_found')
    const { status, json } = await ask(hello(), '/v1/messages/batches', chat)
    expect([status, json.error.type]).toEqual([404, 'not_found_error'])
    expect((await ask(hello(), '/v1/models', chat)).status).toBe(404)
  })

  test('check 08: answers and errors carry both request id headers with the same value', async () => {
    for (const body of [chat, { ...chat, stream: true }, { ...chat, n: 0 }]) {
      const { headers } = await ask(hello(), chatPath, body, { requestId: 'r-1' })
      expect([headers['x-request-id'], headers['request-id']]).toEqual(['r-1', 'r-1'])
    }
  })

  test('check 09: an overloaded engine is 503, or 529 for messages, with retry-after', async () => {
    const full = () =>
      new ScriptedEngine({
        before: () => {
          throw new EngineError('overloaded', 'all slots are taken', { retryAfterSeconds: 3 })
        },
      })
    const openAi = await ask(full(), chatPath, chat)
    expect([openAi.status, openAi.headers['retry-after']]).toEqual([503, '3'])
    const anthropic = await ask(full(), '/v1/messages', { ...chat, max_tokens: 5 })
    expect([anthropic.status, anthropic.headers['retry-after']]).toEqual([529, '3'])
    expect(anthropic.json.error.type).toBe('overloaded_error')
  })

  test('check 16: a stream is not compressed, cached or buffered', async () => {
    const { headers } = await ask(hello(), chatPath, { ...chat, stream: true })
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    })
    expect(headers['content-encoding']).toBeUndefined()
  })

  test('unexpected engine errors are not exposed', async () => {
    const broken = new ScriptedEngine({
      before: () => {
        throw new Error('SECRET prompt in a message')
      },
    })
    const { status, text } = await ask(broken, chatPath, chat)
    expect(status).toBe(500)
    expect(text).not.toContain('SECRET')
  })
})

describe('models', () => {
  test('check 33: latest resolves and the answer marks it as deprecated', async () => {
    const engine = hello()
    const { headers, json } = await ask(engine, chatPath, { ...chat, model: 'latest' })
    expect(engine.calls[0]?.body.model).toBe(chatModel.id)
    expect(json.model).toBe(chatModel.id)
    expect(headers.deprecation).toMatch(/^@\d+$/)
    expect(headers.warning).toContain(chatModel.id)
    expect((await ask(hello(), chatPath, chat)).headers.deprecation).toBeUndefined()
  })

  test('check 31: an unknown model is 404 in both dialects', async () => {
    const openAi = await ask(hello(), chatPath, { ...chat, model: 'none' })
    expect([openAi.status, openAi.json.error.code]).toEqual([404, 'model_not_found'])
    const anthropic = await ask(hello(), '/v1/messages', { ...chat, model: 'none', max_tokens: 1 })
    expect([anthropic.status, anthropic.json.error.type]).toEqual([404, 'not_found_error'])
  })

  test('check 32: an embedding model is a clear 400 on chat, and a chat model on embeddings', async () => {
    const wrongChat = await ask(hello(), chatPath, { ...chat, model: 'embed' })
    expect([wrongChat.status, wrongChat.json.error.param]).toEqual([400, 'model'])
    const wrongEmbed = await ask(hello(), '/v1/embeddings', { model: chatModel.id, input: 'a' })
    expect([wrongEmbed.status, wrongEmbed.json.error.param]).toEqual([400, 'model'])
  })

  test('a body that names a model other than the envelope’s is refused', async () => {
    const { status, json } = await ask(hello(), chatPath, chat, { boundModel: 'eyes' })
    expect([status, json.error.param]).toEqual([400, 'model'])
    expect((await ask(hello(), chatPath, chat, { boundModel: chatModel.id })).status).toBe(200)
    const engine = hello()
    await ask(engine, chatPath, { ...chat, model: 'latest' }, { boundModel: 'eyes' })
    expect(engine.calls[0]?.body.model).toBe('eyes')
  })

  test('a name without a tag is the tag latest, if the envelope is bound to that', async () => {
    const models = ['tiny:latest', 'both', 'both:latest'].map((id) => ({ ...chatModel, id }))
    const asked = async (model: string, boundModel?: string) => {
      const engine = new ScriptedEngine({ models, deltas: [{ content: 'Hi' }] })
      const { status, json } = await ask(engine, chatPath, { ...chat, model }, { boundModel })
      expect(json.model).toBe(engine.calls[0]?.body.model)
      return engine.calls[0]?.body.model ?? status
    }
    expect(await asked('tiny')).toBe('tiny:latest')
    expect(await asked('tiny', 'tiny:latest')).toBe('tiny:latest')
    expect(await asked('both', 'both')).toBe('both')
    expect(await asked('tiny', 'tiny')).toBe(400)
    expect(await asked('both', 'both:latest')).toBe(400)
    expect(await asked('other')).toBe(404)
  })
})

describe('cache salts', () => {
  test('check 59: an empty, short or overlong salt is 400 and is not echoed', async () => {
    for (const cache_salt of ['', 'too-short-to-be-a-salt', 's'.repeat(1025), 5]) {
      const { status, json, text } = await ask(hello(), chatPath, { ...chat, cache_salt })
      expect([status, json.error.param]).toEqual([400, 'cache_salt'])
      expect(text).not.toContain('too-short')
    }
  })

  test('check 59: the request’s salt takes precedence over the default', async () => {
    const engine = hello()
    await ask(engine, chatPath, { ...chat, cache_salt: salt }, { defaultCacheSalt: 'd'.repeat(44) })
    await ask(engine, chatPath, chat, { defaultCacheSalt: 'd'.repeat(44) })
    expect(engine.calls.map((call) => call.body.cache_salt)).toEqual([salt, 'd'.repeat(44)])
    expect(engine.calls.map((call) => call.keepPrefix)).toEqual([true, true])
  })

  test('check 59: without a salt each request gets a fresh random one, on every endpoint', async () => {
    const engine = hello()
    for (const path of [chatPath, '/v1/messages', '/v1/responses', chatPath])
      await ask(engine, path, { ...chat, max_tokens: 5, input: 'hi' })
    const salts = engine.calls.map((call) => String(call.body.cache_salt))
    expect(new Set(salts).size).toBe(4)
    for (const call of engine.calls) expect(call.keepPrefix).toBe(false)
    for (const one of salts) expect(Uint8Array.fromBase64(one)).toHaveLength(32)
  })
})
