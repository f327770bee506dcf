/** Model servers that send something other than what they promise: always a clear failure. */
import { describe, expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import type { Engine, EngineCall } from '../engine.ts'
import {
  callOf as callWith,
  closeAfterEach,
  connectTo,
  serve,
  streamed,
} from '../testing/connected-engine.ts'

closeAfterEach()

type Answers = Readonly<Record<string, () => Response>>

/** A good server until it is discovered, which then answers these paths differently. */
async function connect(answers: Answers): Promise<Engine> {
  const server = serve({ native: ['messages', 'responses'] })
  let isKnown = false
  const fetchOrBreak = (url: string, init: RequestInit) => {
    const broken = isKnown ? answers[new URL(url).pathname] : undefined
    return broken === undefined ? fetch(url, init) : Promise.resolve(broken())
  }
  const parts = { fetch: fetchOrBreak, now: () => new Date() }
  const engine = await connectTo(server.url, {}, parts)
  isKnown = true
  return engine
}

const body = { model: 'scripted', messages: [{ role: 'user', content: 'SECRET' }] }
const callOf = (fields: Partial<EngineCall> = {}) => callWith(body, fields)
const sent = (text: string | Uint8Array<ArrayBuffer>) => () => new Response(text)
const failed = (message: string) => ({ code: 'engine_failed', message })

describe('streams', () => {
  const chunk = '{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}'
  const broken: [string, string, string][] = [
    ['is not JSON', 'data: {"SECRET\n\n', 'the model server sent an event that is not JSON'],
    ['is not an object', 'data: 5\n\n', 'the model server sent an event that is not an object'],
    ['is null', 'data: null\n\n', 'the model server ended in mid-stream'],
    ['is incomplete', `data: ${chunk}\n\n`, 'the model server ended in mid-stream'],
    ['is empty', '', 'the model server ended in mid-stream'],
  ]
  for (const [what, text, message] of broken)
    test(`one that ${what} is a failure, streamed or not`, async () => {
      const engine = await connect({ '/v1/chat/completions': sent(text) })
      expect(await rejection(streamed(engine, callOf()))).toMatchObject(failed(message))
      expect(await rejection(engine.call(callOf()))).toMatchObject(failed(message))
    })

  test('one with an event that never ends is cut off before it fills the memory', async () => {
    const endless = new Uint8Array(40 * 1024 * 1024).fill(0x61)
    endless.set(new TextEncoder().encode('data: '))
    const engine = await connect({ '/v1/chat/completions': sent(endless) })
    const message = 'the model server sent an event that never ends'
    expect(await rejection(streamed(engine, callOf()))).toMatchObject(failed(message))
  })
})

describe('counting', () => {
  const refusal = (status: number) => () => Response.json({ error: { code: status } }, { status })

  test('a missing tokenizer is worked around; the refusal of an existing one is respected', async () => {
    const without = await connect({ '/tokenize': refusal(404) })
    expect(await without.countTokens(body)).toBe(2)
    const refusing = await connect({ '/tokenize': refusal(400) })
    expect(await rejection(refusing.countTokens(body))).toMatchObject({ code: 'invalid_value' })
    const failing = await connect({ '/tokenize': refusal(500) })
    expect(await rejection(failing.countTokens(body))).toMatchObject({ code: 'engine_failed' })
  })

  test('invalid counts are a failure, never a number', async () => {
    const uncounted = 'the model server does not count tokens'
    const message = { ...body, max_tokens: 9 }
    const counter = await connect({ '/v1/messages/count_tokens': () => Response.json({}) })
    expect(await rejection(counter.countTokens(message, 'messages'))).toMatchObject(
      failed(uncounted),
    )
    const answers = {
      '/tokenize': () => Response.json({}),
      '/v1/chat/completions': () => Response.json({ choices: [] }),
    }
    const engine = await connect(answers)
    expect(await rejection(engine.countTokens(body))).toMatchObject(failed(uncounted))
  })

  test('an answer that is not JSON is a failure', async () => {
    const engine = await connect({ '/tokenize': sent('<html>SECRET</html>') })
    const message = 'the model server did not send JSON'
    expect(await rejection(engine.countTokens(body))).toMatchObject(failed(message))
  })

  test('an answer without a reason for its end and without counts is a failure', async () => {
    const choices = [{ index: 0, message: { content: 'Hello' }, finish_reason: null }]
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
    const engine = await connect({
      '/v1/chat/completions': () => Response.json({ choices, usage }),
    })
    const tools = [{ type: 'function', function: { name: 'f' } }] // requested as a whole
    const error = await rejection(engine.call(callWith({ ...body, tools })))
    expect(error).toMatchObject(failed('the model server ended before its answer did'))
  })

  test('an answer that breaks off means that the server is unavailable', async () => {
    const cut = () => new Response(new ReadableStream({ pull: (answer) => answer.error('cut') }))
    const engine = await connect({ '/tokenize': cut })
    expect(await rejection(engine.countTokens(body))).toMatchObject({ code: 'engine_unavailable' })
  })
})

test('a closed engine refuses all calls', async () => {
  const engine = await connect({})
  await engine.close()
  const closed = { code: 'engine_unavailable', message: 'the engine was closed' }
  expect(await rejection(engine.call(callOf()))).toMatchObject(closed)
  expect(() => engine.countTokens(body)).toThrow('the engine was closed')
})
