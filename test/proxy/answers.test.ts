/** What applications get from the proxy: the real program, gateway and worker around a scripted engine. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { EngineCall } from '../../packages/inference/src/engine.ts'
import { type ProxyProcess, startProxy } from './proxy-process.ts'
import {
  chat,
  chatPath,
  errorOf,
  post,
  type ScriptedSystem,
  startKeyedProxy,
  startScriptedSystem,
  story,
} from './scripted-system.ts'

let scripted: ScriptedSystem
let keyed: ProxyProcess
let open: ProxyProcess

beforeAll(async () => {
  scripted = await startScriptedSystem()
  ;[keyed, open] = await Promise.all([startKeyedProxy(scripted), startProxy(scripted.system)])
}, 150_000)

// A failed test must not affect the next one.
afterEach(() => {
  scripted.hooks.before = undefined
  scripted.hooks.beforeChunk = undefined
})
afterAll(async () => {
  await Promise.all([keyed.stop(), open.stop()])
  await scripted.system.stop()
}, 240_000)

describe('official clients', () => {
  test('OpenAI: whole, streamed, models', async () => {
    const openai = new OpenAI({ baseURL: `${keyed.url}/v1`, apiKey: 'unused', maxRetries: 0 })
    const request = { model: 'org/chat-1', messages: [{ role: 'user' as const, content: 'hi' }] }
    const whole = await openai.chat.completions.create(request)
    expect(whole.choices[0]?.message.content).toBe(story)
    let text = ''
    for await (const chunk of await openai.chat.completions.create({ ...request, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).toBe(story)
    const models = await openai.models.list()
    expect(models.data.map(({ id }) => id)).toContain('org/chat-1')
    expect((await openai.models.retrieve('org/chat-1')).id).toBe('org/chat-1')
  })

  test('Anthropic: whole and streamed', async () => {
    const anthropic = new Anthropic({ baseURL: keyed.url, apiKey: 'unused', maxRetries: 0 })
    const request = {
      model: 'org/chat-1',
      max_tokens: 50,
      messages: [{ role: 'user' as const, content: 'hi' }],
    }
    const whole = await anthropic.messages.create(request)
    expect(whole.content).toMatchObject([{ type: 'text', text: story }])
    const streamed = await anthropic.messages.stream(request).finalMessage()
    expect(streamed.content).toMatchObject([{ type: 'text', text: story }])
  })
})

describe('authentication', () => {
  test("with --apiKey clients need no key, and a wrong key of theirs doesn't matter", async () => {
    expect((await post(keyed, chatPath, chat())).status).toBe(200)
    const wrong = await post(keyed, chatPath, chat(), { authorization: 'Bearer wrong' })
    expect(wrong.status).toBe(200)
  })

  test("without it each client's own key is used, by either header", async () => {
    const authorization = `Bearer ${scripted.system.apiKey}`
    expect((await post(open, chatPath, chat(), { authorization })).status).toBe(200)
    const byApiKey = await post(open, chatPath, chat(), { 'x-api-key': scripted.system.apiKey })
    expect(byApiKey.status).toBe(200)
    const listed = await fetch(`${open.url}/v1/models`, { headers: { authorization } })
    expect(listed.status).toBe(200)
  })

  test('without any key the answer is 401 in the dialect of the path', async () => {
    const openai = await post(open, chatPath, chat())
    expect(openai.status).toBe(401)
    expect((await errorOf(openai)).error.code).toBe('invalid_api_key')
    const anthropic = await post(open, '/v1/messages', chat())
    expect(anthropic.status).toBe(401)
    expect(await anthropic.json()).toMatchObject({
      type: 'error',
      error: { type: 'authentication_error' },
      request_id: anthropic.headers.get('request-id'),
    })
  })

  test('a key the backend does not know is refused by it', async () => {
    const response = await post(open, chatPath, chat(), { authorization: 'Bearer pm-unknown' })
    expect(response.status).toBe(401)
    expect((await errorOf(response)).error.code).toBe('invalid_api_key')
  })
})

describe('every response', () => {
  test('has both request ids, equal, also errors, pages and streams', async () => {
    const responses = await Promise.all([
      post(keyed, chatPath, chat()),
      post(keyed, chatPath, chat({ stream: true })),
      post(keyed, chatPath, '{'),
      fetch(`${keyed.url}/health`),
      fetch(`${keyed.url}/nowhere`),
      fetch(`${keyed.url}/v1/models`),
    ])
    for (const response of responses) {
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/)
      expect(response.headers.get('request-id')).toBe(response.headers.get('x-request-id'))
      await response.arrayBuffer()
    }
  })

  test('a stream says that it is one and is not compressed or held back', async () => {
    const headers = { accept: 'application/json', 'accept-encoding': 'gzip, br, zstd' }
    const response = await post(keyed, chatPath, chat({ stream: true }), headers)
    expect(response.headers.get('content-type')).toStartWith('text/event-stream')
    expect(response.headers.get('cache-control')).toBe('no-cache')
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    expect(response.headers.get('content-encoding')).toBeNull()
    expect(await response.text()).toEndWith('data: [DONE]\n\n')
  })

  test('the first event arrives before the second exists', async () => {
    const release = Promise.withResolvers<void>()
    scripted.hooks.beforeChunk = (index) => (index === 2 ? release.promise : undefined)
    const response = await post(keyed, chatPath, chat({ stream: true }))
    const reader = response.body?.getReader()
    const first = new TextDecoder().decode((await reader?.read())?.value)
    expect(first).toStartWith('data: {')
    release.resolve()
    while (!(await reader?.read())?.done);
  })
})

describe('a client that disconnects', () => {
  test.each([true, false])(
    'stops the generation (stream: %p)',
    async (stream) => {
      const started = Promise.withResolvers<EngineCall>()
      scripted.hooks.before = async (call) => {
        started.resolve(call)
        if (!stream) await new Promise(() => {})
      }
      scripted.hooks.beforeChunk = () => new Promise(() => {})
      const abort = new AbortController()
      const request = fetch(keyed.url + chatPath, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: chat({ stream }),
        signal: abort.signal,
      }).catch(() => undefined)
      const call = await started.promise
      const stopped = Promise.withResolvers<void>()
      call.signal.addEventListener('abort', () => stopped.resolve())
      abort.abort()
      await request
      await stopped.promise
      await keyed.logged('outcome=aborted')
    },
    240_000,
  )
})

describe('a worker that fails in mid-stream', () => {
  test.each([
    [chatPath, 'data: {"error":{'],
    ['/v1/messages', 'event: error\ndata: {"type":"error"'],
  ])('gives an error event on %s and no clean end', async (path, expected) => {
    scripted.hooks.beforeChunk = (index) => {
      if (index === 2) throw new Error('the engine broke')
    }
    const response = await post(keyed, path, chat({ stream: true, max_tokens: 10 }))
    const text = await response.text()
    expect(text).toContain(expected)
    expect(text).not.toContain('[DONE]')
    expect(text).not.toContain('message_stop')
  })
})

test('two hundred requests over one connection', async () => {
  for (let index = 0; index < 200; index++) {
    const response = await post(keyed, chatPath, chat())
    expect(response.status).toBe(200)
    await response.arrayBuffer()
  }
}, 240_000)

test('a prompt of many frames reaches the engine as it was, several at once', async () => {
  const prompts = [1, 2, 3].map((seed) => {
    const words = Array.from({ length: 300_000 }, (_, at) =>
      ((at * 7919 + seed) % 99_991).toString(36),
    )
    return words.join(' ')
  })
  const seen: unknown[] = []
  scripted.hooks.before = (call) => void seen.push(call.body.messages)
  const answers = await Promise.all(
    prompts.map((content) =>
      post(open, chatPath, chat({ messages: [{ role: 'user', content }] }), {
        authorization: `Bearer ${scripted.system.apiKey}`,
      }),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  const contents = seen.map((messages) => (messages as { content: string }[])[0]?.content)
  expect(contents.toSorted()).toEqual(prompts.toSorted())
}, 240_000)
