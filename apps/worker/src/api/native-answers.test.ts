/** Answers that a model server gives in the caller's dialect itself: counts, names, ends and failures. */
import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../engine/engine.ts'
import { ask } from '../testing/ask.ts'
import {
  closeAfterEach,
  connect,
  dialects,
  longText,
  message,
  response,
} from '../testing/native-dialects.ts'
import { PassedEvents } from './messages/passed-answer.ts'
import { PassedEvents as PassedResponse } from './responses/passed-answer.ts'

closeAfterEach()

const salt = 's'.repeat(44)
const tool = { name: 'look', input_schema: { type: 'object' } }
const named = { type: 'function', name: 'look', parameters: { type: 'object' } }
const isDelta = ({ type }: JsonObject) => /\.delta$|_delta$/.test(String(type))

describe('messages', () => {
  test('check 73: a stream has its events in order, under the name of the model', async () => {
    const { engine } = await connect()
    const { events, text } = await ask(engine, '/v1/messages', message('hello', { stream: true }))
    expect(events.map(({ data }) => data.type)).toEqual([
      ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_delta'],
      ...['content_block_delta', 'content_block_stop', 'message_delta', 'message_stop'],
    ])
    expect(events.every(({ event, data }) => event === data.type)).toBe(true)
    expect(events[0]?.data.message).toMatchObject({
      ...{ model: 'scripted', type: 'message', role: 'assistant', content: [] },
      usage: { input_tokens: 2 },
    })
    expect(text).not.toMatch(/SECRET|scripted-1|path\//)
  })

  test('a whole message is the same as its stream, with tools or without', async () => {
    const { engine } = await connect()
    for (const fields of [{}, { tools: [tool] }]) {
      const body = message('hello', fields)
      const { json, text } = await ask(engine, '/v1/messages', body)
      expect(json).toMatchObject({
        ...{ type: 'message', role: 'assistant', model: 'scripted', stop_reason: 'end_turn' },
        ...{ stop_sequence: null, content: [{ type: 'text', text: 'You said: hello' }] },
      })
      expect(json.usage).toMatchObject({ output_tokens: 3, cache_read_input_tokens: 0 })
      expect(text).not.toMatch(/SECRET|scripted-1|path\//)
    }
  })

  test('check 81: the whole prompt is told as not cached, and the record knows the truth', async () => {
    for (const stream of [false, true]) {
      const { engine } = await connect()
      const body = message(longText, { stream, cache_salt: salt })
      const first = await ask(engine, '/v1/messages', body)
      const again = await ask(engine, '/v1/messages', body)
      const usageOf = ({ json, events }: typeof again) => json?.usage ?? events.at(-2)?.data.usage
      expect(usageOf(again)).toEqual(usageOf(first))
      expect(usageOf(again)).toMatchObject({ input_tokens: 101, cache_read_input_tokens: 0 })
      const { promptTokens, cachedTokens } = again.answer.usage()
      expect([promptTokens, cachedTokens]).toEqual([101, 96])
      expect(
        (await ask(engine, '/v1/messages', message(longText))).answer.usage().cachedTokens,
      ).toBe(0)
    }
  })

  test('check 82: count_tokens equals what the same message then costs', async () => {
    const { server, engine } = await connect()
    const body = message('how many?', { system: 'be brief', tools: [tool] })
    const counted = await ask(engine, '/v1/messages/count_tokens', body)
    expect(server.requests.map(({ path }) => path)).toEqual(['/v1/messages/count_tokens'])
    const { json } = await ask(engine, '/v1/messages', body)
    expect(counted.json).toEqual({ input_tokens: json.usage.input_tokens })
  })

  test('check 74: the call of a tool comes through, streamed and whole', async () => {
    const { engine } = await connect()
    const body = message('[[tool look {"at":"sky"}]]', { tools: [tool] })
    const { json } = await ask(engine, '/v1/messages', body)
    expect(json).toMatchObject({ stop_reason: 'tool_use', content: [{ input: { at: 'sky' } }] })
    const { events } = await ask(engine, '/v1/messages', { ...body, stream: true })
    const pieces = events.map(({ data }) => data.delta?.partial_json ?? '').join('')
    expect(JSON.parse(pieces)).toEqual({ at: 'sky' })
  })

  test('check 75: reasoning shows only to who asks for it, and the indices stay in a row', async () => {
    const { engine } = await connect()
    for (const [thinking, types] of [
      [{ type: 'enabled', budget_tokens: 1024 }, ['thinking', 'text']],
      [undefined, ['text']],
    ] as const) {
      const body = message('[[reason]] hello', thinking === undefined ? {} : { thinking })
      const { json } = await ask(engine, '/v1/messages', body)
      expect(json.content.map((block: JsonObject) => block.type)).toEqual([...types])
      const { events, text } = await ask(engine, '/v1/messages', { ...body, stream: true })
      const starts = events.filter(({ event }) => event === 'content_block_start')
      expect(starts.map(({ data }) => [data.index, data.content_block.type])).toEqual(
        types.map((type, i) => [i, type]),
      )
      expect(text.includes('" think"')).toBe(thinking !== undefined)
    }
  })

  test('check 76: the reason to stop is the one that the server tells', async () => {
    const { engine } = await connect()
    const stopped = message('[[say one two three]]', { stop_sequences: [' two'] })
    const { json } = await ask(engine, '/v1/messages', stopped)
    expect(json).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: ' two' })
    const cut = await ask(engine, '/v1/messages', message('[[words 9]]', { max_tokens: 2 }))
    expect(cut.json.stop_reason).toBe('max_tokens')
  })
})

describe('responses', () => {
  test('a response comes through, streamed and whole, under the name of the model', async () => {
    const { engine } = await connect()
    for (const fields of [{}, { tools: [named] }]) {
      const body = response('hello', { store: true, metadata: { a: 'b' }, ...fields })
      const { json } = await ask(engine, '/v1/responses', body)
      const { events } = await ask(engine, '/v1/responses', { ...body, stream: true })
      for (const whole of [json, events.at(-1)?.data.response])
        expect(whole).toMatchObject({
          ...{ model: 'scripted', status: 'completed', store: false, metadata: { a: 'b' } },
          output: [{ content: [{ text: 'You said: hello' }] }],
          usage: { input_tokens: expect.any(Number), output_tokens: 3 },
        })
      expect(events.map(({ data }) => data.sequence_number)).toEqual([...events.keys()])
      expect(events.filter(({ data }) => isDelta(data))).toHaveLength(3)
    }
  })

  test('cached tokens are told, and an answer that was cut says so', async () => {
    const { engine } = await connect()
    const body = response(longText, { cache_salt: salt })
    await ask(engine, '/v1/responses', body)
    const { json } = await ask(engine, '/v1/responses', body)
    expect(json.usage.input_tokens_details.cached_tokens).toBe(96)
    const cut = await ask(
      engine,
      '/v1/responses',
      response('[[words 30]]', { max_output_tokens: 20 }),
    )
    expect(cut.json).toMatchObject({
      ...{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    })
  })
})

describe('failures', () => {
  const endings = /message_stop|response\.completed|response\.incomplete/

  test('check 25: a server that dies or fails in a stream gives an error event, never a good end', async () => {
    for (const [path, bodyOf] of dialects)
      for (const order of ['die 4', 'fail 2']) {
        const { engine } = await connect()
        const body = bodyOf(`[[words 9]] [[${order}]]`, { stream: true })
        const { status, events, text, answer } = await ask(engine, path, body)
        // A connection that is reset may take with it what was sent before: then it is a status.
        const isCutAtOnce = order.startsWith('die') && status === 500
        const failed = path === '/v1/messages' ? 'error' : 'response.failed'
        if (!isCutAtOnce) expect(events.at(-1)?.event).toBe(failed)
        expect([endings.test(text), text.includes('SECRET')]).toEqual([false, false])
        expect(answer.outcome()).toBe('failed')
        const whole = await ask(engine, path, { ...body, stream: false })
        expect([whole.status, whole.text.includes('SECRET')]).toEqual([500, false])
      }
  })

  /** What a server may leave out or turn round so that a cut answer would pass for a short one. */
  const broken: [string, string, (events: JsonObject[]) => JsonObject[]][] = [
    ['no message_stop', '/v1/messages', (all) => all.slice(0, -1)],
    ['no reason to stop', '/v1/messages', (all) => all.filter((e) => e.type !== 'message_delta')],
    ['no beginning', '/v1/messages', (all) => all.slice(1)],
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

  test('no writer ends an answer whose end it has not seen, whichever engine there is', () => {
    const usage = () => ({ promptTokens: 0, cachedTokens: 0, completionTokens: 0 })
    const context = { model: 'm', withThinking: false, stopSequences: [] }
    const events = new PassedEvents(context, usage, 'req')
    events.write({ type: 'message_start', message: {} })
    events.write({ type: 'message_delta', delta: { stop_reason: 'end_turn' } })
    expect(() => events.end()).toThrow('no whole message')
    const responses = new PassedResponse({ body: {}, model: 'm', kinds: new Map() }, usage)
    responses.write({ type: 'response.created', response: {} })
    expect(() => responses.end()).toThrow('no whole response')
  })

  test('a whole answer that was not finished has failed', async () => {
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

  test('an overloaded server is told in the dialect of the path', async () => {
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
})
