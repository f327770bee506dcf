/** Native answers of a model server: counts, names and contents. */
import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../engine.ts'
import { serverSalt } from '../servers/server-salt.ts'
import { ask } from '../testing/ask.ts'
import { closeAfterEach } from '../testing/connected-engine.ts'
import { connect, longText, message, response } from '../testing/native-dialects.ts'

closeAfterEach()

const salt = 's'.repeat(44)
const tool = { name: 'look', input_schema: { type: 'object' } }
const named = { type: 'function', name: 'look', parameters: { type: 'object' } }
const isDelta = ({ type }: JsonObject) => /\.delta$|_delta$/.test(String(type))

describe('messages', () => {
  test('check 73: a stream has its events in order, under the model’s name', async () => {
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

  test('a complete message equals its stream, with or without tools', async () => {
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

  test('fields that a server omits at the start of a stream are added, also in a complete message', async () => {
    const { server, engine } = await connect()
    const bare = ({ type: _, role: __, ...rest }: JsonObject) => rest
    server.change({
      reviseEvents: ([first, ...rest]) => [
        { ...first, message: bare(first?.message as JsonObject) },
        ...rest,
      ],
    })
    const { json } = await ask(engine, '/v1/messages', message('hello'))
    const { events } = await ask(engine, '/v1/messages', message('hello', { stream: true }))
    for (const whole of [json, events[0]?.data.message])
      expect(whole).toMatchObject({ type: 'message', role: 'assistant', model: 'scripted' })
  })

  test('check 81: the whole prompt is reported as not cached, and the record has the true counts', async () => {
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
    const fields = { system: 'be brief', tools: [tool], cache_salt: salt }
    const body = message('how many?', fields)
    const counted = await ask(engine, '/v1/messages/count_tokens', body)
    expect(server.requests.map(({ path }) => path)).toEqual(['/v1/messages/count_tokens'])
    // A server may cache what it has counted: that too must be kept to this caller.
    expect(server.requests[0]?.body.cache_salt).toBe(serverSalt(salt))
    const { json } = await ask(engine, '/v1/messages', body)
    expect(counted.json).toEqual({ input_tokens: json.usage.input_tokens })
  })

  test('check 74: a tool call is passed on, streamed or not', async () => {
    const { engine } = await connect()
    const body = message('[[tool look {"at":"sky"}]]', { tools: [tool] })
    const { json } = await ask(engine, '/v1/messages', body)
    expect(json).toMatchObject({ stop_reason: 'tool_use', content: [{ input: { at: 'sky' } }] })
    const { events } = await ask(engine, '/v1/messages', { ...body, stream: true })
    const pieces = events.map(({ data }) => data.delta?.partial_json ?? '').join('')
    expect(JSON.parse(pieces)).toEqual({ at: 'sky' })
  })

  test('check 75: reasoning is shown only if requested, and indices stay consecutive', async () => {
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

  test('check 75: thinking ends with one signature, whether the server sends one or not', async () => {
    const { server, engine } = await connect()
    const thinking = { type: 'adaptive' }
    const body = message('[[reason]] hello', { thinking, stream: true })
    const signed = { type: 'signature_delta', signature: 'of the server' }
    const sign = (all: JsonObject[]) => {
      const end = all.findIndex(({ type }) => type === 'content_block_stop')
      return all.toSpliced(end, 0, { type: 'content_block_delta', index: 0, delta: signed })
    }
    for (const reviseEvents of [(all: JsonObject[]) => all, sign]) {
      server.change({ reviseEvents })
      const { events } = await ask(engine, '/v1/messages', body)
      const deltas = events.map(({ data }) => data.delta?.type)
      expect(deltas.filter((type) => type === 'signature_delta')).toHaveLength(1)
      const end = events.findIndex(({ event }) => event === 'content_block_stop')
      expect(events[end - 1]?.data).toMatchObject({ index: 0, delta: { type: 'signature_delta' } })
    }
  })

  test('check 76: the stop reason is the server’s', async () => {
    const { engine } = await connect()
    const stopped = message('[[say one two three]]', { stop_sequences: [' two'] })
    const { json } = await ask(engine, '/v1/messages', stopped)
    expect(json).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: ' two' })
    const cut = await ask(engine, '/v1/messages', message('[[words 9]]', { max_tokens: 2 }))
    expect(cut.json.stop_reason).toBe('max_tokens')
  })
})

describe('responses', () => {
  test('a response is passed on, streamed or not, under the model’s name', async () => {
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

  test('cached tokens are reported, and a truncated answer says so', async () => {
    const { server, engine } = await connect()
    const body = response(longText, { cache_salt: salt })
    await ask(engine, '/v1/responses', body)
    const { json } = await ask(engine, '/v1/responses', body)
    expect(json.usage.input_tokens_details.cached_tokens).toBe(96)
    const incomplete = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    const long = response('[[words 30]]', { max_output_tokens: 20 })
    expect((await ask(engine, '/v1/responses', long)).json).toMatchObject(incomplete)
    // Some servers use the same name for the last event, however the response ended.
    server.change({
      reviseEvents: (all) =>
        all.map((e) =>
          e.type === 'response.incomplete' ? { ...e, type: 'response.completed' } : e,
        ),
    })
    const { events } = await ask(engine, '/v1/responses', { ...long, stream: true })
    expect(events.at(-1)).toMatchObject({
      ...{ event: 'response.incomplete', data: { type: 'response.incomplete' } },
    })
    expect(events.at(-1)?.data.response).toMatchObject(incomplete)
  })
})
