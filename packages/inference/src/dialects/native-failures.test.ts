/** Native answers that a model server does not complete. */
import { expect, test } from 'bun:test'
import type { JsonObject } from '../engine.ts'
import { ask } from '../testing/ask.ts'
import { closeAfterEach } from '../testing/connected-engine.ts'
import { connect, dialects, message, response } from '../testing/native-dialects.ts'
import { PassedEvents } from './messages/passed-answer.ts'
import { PassedEvents as PassedResponse } from './responses/passed-answer.ts'

closeAfterEach()

const tool = { name: 'look', input_schema: { type: 'object' } }
const named = { type: 'function', name: 'look', parameters: { type: 'object' } }
const endings = /message_stop|response\.completed|response\.incomplete/

test('check 25: a server that dies or fails in a stream yields an error event, never a proper end', async () => {
  for (const [path, bodyOf] of dialects)
    for (const order of ['die 4', 'fail 2']) {
      const { engine } = await connect()
      const body = bodyOf(`[[words 9]] [[${order}]]`, { stream: true })
      const { status, events, text, answer } = await ask(engine, path, body)
      // A connection reset may lose data sent before: then the failure is a status.
      const isCutAtOnce = order.startsWith('die') && status === 500
      const failed = path === '/v1/messages' ? 'error' : 'response.failed'
      if (!isCutAtOnce) expect(events.at(-1)?.event).toBe(failed)
      expect([endings.test(text), text.includes('SECRET')]).toEqual([false, false])
      expect(answer.outcome()).toBe('failed')
      const whole = await ask(engine, path, { ...body, stream: false })
      expect([whole.status, whole.text.includes('SECRET')]).toEqual([500, false])
    }
})

test('a native stream that fails before any content is retried through translation', async () => {
  const events: Record<string, (all: JsonObject[]) => JsonObject[]> = {
    '/v1/messages': () => [{ type: 'error', error: { type: 'internal_error', message: 'x' } }],
    '/v1/responses': (all) => all.slice(0, 1),
  }
  for (const [path, bodyOf] of dialects)
    for (const stream of [true, false]) {
      const { server, engine } = await connect()
      server.change({ reviseEvents: (all) => events[path]?.(all) ?? all })
      const { status, text, answer } = await ask(engine, path, bodyOf('hello', { stream }))
      expect([status, answer.outcome()]).toEqual([200, 'complete'])
      expect(text).toContain('said')
      const paths = server.requests.map((request) => request.path)
      expect(paths).toEqual([path, '/v1/chat/completions'])
    }
})

test('a response that is completed without any output is retried through translation', async () => {
  for (const stream of [true, false]) {
    const { server, engine } = await connect()
    const empty = ({ response, ...event }: JsonObject): JsonObject => ({
      ...event,
      response: { ...(response as JsonObject), output: [] },
    })
    server.change({ reviseEvents: (all) => [...all.slice(0, 2), empty(all.at(-1) ?? {})] })
    const { status, text, answer } = await ask(
      engine,
      '/v1/responses',
      response('hello', { stream }),
    )
    expect([status, answer.outcome()]).toEqual([200, 'complete'])
    expect(text).toContain('said')
    const paths = server.requests.map((request) => request.path)
    expect(paths).toEqual(['/v1/responses', '/v1/chat/completions'])
  }
})

test('a native request that fails at once is retried through translation', async () => {
  for (const [path, bodyOf] of dialects)
    for (const stream of [true, false]) {
      const { server, engine } = await connect()
      server.change({ failsOn: [path] })
      const { status, text, answer } = await ask(engine, path, bodyOf('hello', { stream }))
      expect([status, answer.outcome()]).toEqual([200, 'complete'])
      expect(text).toContain('said')
      const paths = server.requests.map((request) => request.path)
      expect(paths).toEqual([path, '/v1/chat/completions'])
    }
})

test('a refusal sent after the status is reported as a refusal, in the dialect of the path', async () => {
  for (const [path, bodyOf] of dialects)
    for (const stream of [true, false]) {
      const { engine } = await connect()
      const body = bodyOf('[[late 400 Grammar error: Invalid type: SECRET]]', { stream })
      const { status, json, text } = await ask(engine, path, body)
      expect([path, stream, status, json.error.type]).toEqual([
        ...[path, stream, 400, 'invalid_request_error'],
      ])
      expect(text).not.toContain('SECRET')
    }
})

/** What a server may omit or reorder so that a truncated answer would pass for a short one. */
const broken: [string, string, (events: JsonObject[]) => JsonObject[]][] = [
  ['no message_stop', '/v1/messages', (all) => all.slice(0, -1)],
  ['no reason to stop', '/v1/messages', (all) => all.filter((e) => e.type !== 'message_delta')],
  ['no beginning', '/v1/messages', (all) => all.slice(1)],
  ['two beginnings', '/v1/messages', (all) => [...all.slice(0, 1), ...all]],
  [
    ...(['a block inside a block', '/v1/messages'] as const),
    ([head = {}, first = {}, ...rest]) => [
      ...[head, first, { ...first, index: 1 }],
      ...rest.map((e) => (e.index === 0 ? { ...e, index: 1 } : e)),
    ],
  ],
  [
    'a block left open',
    '/v1/messages',
    (all) => all.filter((e) => e.type !== 'content_block_stop'),
  ],
  ['an index that jumps', '/v1/messages', (all) => all.map((e) => ({ ...e, index: 3 }))],
  [
    ...(['a block after the reason to stop', '/v1/messages'] as const),
    (all) => [...all.slice(0, 1), ...all.slice(-2, -1), ...all.slice(1, -2), ...all.slice(-1)],
  ],
  [
    ...(['a failure before its end', '/v1/messages'] as const),
    (all) => all.toSpliced(-1, 0, { type: 'error', message: 'it failed' }),
  ],
  [
    ...(['a failure before its end', '/v1/responses'] as const),
    (all) => all.toSpliced(-1, 0, { type: 'response.failed' }),
  ],
  ['no response.completed', '/v1/responses', (all) => all.slice(0, -1)],
  [
    ...(['a response that is not finished', '/v1/responses'] as const),
    (all) => all.map((e) => ({ ...e, response: { ...(e.response as object), status: 'queued' } })),
  ],
  ['no beginning', '/v1/responses', (all) => all.slice(1)],
]
test.each(broken)('a stream with %s has failed, at %s', async (_, path, reviseEvents) => {
  const { server, engine } = await connect()
  server.change({ reviseEvents })
  const body = path === '/v1/messages' ? message('hello') : response('hello')
  const { events, text, answer } = await ask(engine, path, { ...body, stream: true })
  expect(events.at(-1)?.event).toBe(path === '/v1/messages' ? 'error' : 'response.failed')
  expect([endings.test(text), answer.outcome()]).toEqual([false, 'failed'])
})

test('no writer ends an answer whose end it has not seen, whatever the engine', () => {
  const usage = () => ({ promptTokens: 0, cachedTokens: 0, completionTokens: 0 })
  const context = { model: 'm', withThinking: false, stopSequences: [] }
  const events = new PassedEvents(context, usage, 'req')
  events.write({ type: 'message_start', message: {} })
  events.write({ type: 'message_delta', delta: { stop_reason: 'end_turn' } })
  expect(() => events.end()).toThrow('incomplete message')
  const responses = new PassedResponse({ body: {}, model: 'm', kinds: new Map() }, usage)
  responses.write({ type: 'response.created', response: {} })
  expect(() => responses.end()).toThrow('incomplete response')
})

test('an unfinished answer that is not streamed has failed', async () => {
  const { server, engine } = await connect()
  const unfinished = (all: JsonObject[]) =>
    all.map((event) => {
      if (event.type === 'message_delta') return { ...event, delta: { stop_reason: null } }
      if (event.type !== 'response.completed') return event
      return { ...event, response: { ...(event.response as JsonObject), status: 'failed' } }
    })
  server.change({ reviseEvents: unfinished })
  for (const [path, bodyOf] of dialects)
    for (const fields of [{}, { tools: [path === '/v1/messages' ? tool : named] }]) {
      const { status } = await ask(engine, path, bodyOf('hello', fields))
      expect([path, fields, status]).toEqual([path, fields, 500])
    }
})

test('an overloaded server is reported in the dialect of the path', async () => {
  const { engine } = await connect()
  for (const stream of [false, true]) {
    const body = message('[[error 503 busy with SECRET]]', { stream })
    const { status, json } = await ask(engine, '/v1/messages', body)
    expect([status, json.error.type]).toEqual([529, 'overloaded_error'])
    const other = await ask(engine, '/v1/responses', response('[[error 503 SECRET]]', { stream }))
    expect([other.status, other.json.error.type]).toEqual([503, 'server_error'])
    expect(JSON.stringify([json, other.json])).not.toContain('SECRET')
  }
})
