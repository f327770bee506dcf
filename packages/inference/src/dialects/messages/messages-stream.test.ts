/** Messages as a stream: names, order and indices of the events. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { JsonObject } from '../../engine.ts'
import { ask } from '../../testing/ask.ts'
import { chatModel, reportUsage, ScriptedEngine } from '../../testing/scripted-engine.ts'

const path = '/v1/messages'
const message = {
  model: chatModel.id,
  max_tokens: 50,
  messages: [{ role: 'user', content: 'hi' }],
  thinking: { type: 'enabled', budget_tokens: 1024 },
  stream: true,
}
const tool = (index: number, fields: JsonObject) => ({ tool_calls: [{ index, ...fields }] })
const events = async (engine: ScriptedEngine, body: JsonObject = message) => {
  const got = await ask(engine, path, body)
  for (const { event, data } of got.events) expect(event).toBe(data.type)
  return got.events.map(({ data }) => data)
}

describe('the stream', () => {
  test('check 73: thinking, text and two tools are consecutive blocks, one open at a time', async () => {
    const engine = new ScriptedEngine({
      deltas: [
        { reasoning: 'h' },
        { reasoning: 'm' },
        { content: '\n' },
        { content: 'Hi' },
        tool(0, { id: 'a', function: { name: 'f', arguments: '' } }),
        tool(0, { function: { arguments: '{"x"' } }),
        tool(0, { function: { arguments: ':1}' } }),
        tool(1, { id: 'b', function: { name: 'g', arguments: '{}' } }),
      ],
      finishReason: 'tool_calls',
    })
    const tools = ['f', 'g'].map((name) => ({ name, input_schema: { type: 'object' } }))
    const got = await events(engine, { ...message, tools })
    expect(got.map((data) => `${data.type} ${data.index ?? ''}`.trim())).toEqual([
      'message_start',
      'content_block_start 0',
      'content_block_delta 0',
      'content_block_delta 0',
      'content_block_delta 0',
      'content_block_stop 0',
      'content_block_start 1',
      'content_block_delta 1',
      'content_block_stop 1',
      'content_block_start 2',
      'content_block_delta 2',
      'content_block_delta 2',
      'content_block_stop 2',
      'content_block_start 3',
      'content_block_delta 3',
      'content_block_stop 3',
      'message_delta',
      'message_stop',
    ])
    // check 75: one signature before the thinking block ends
    expect(got[4].delta.type).toBe('signature_delta')
    // check 74: tool_use starts with an empty input, its pieces join to JSON
    expect(got[9].content_block).toEqual({ type: 'tool_use', id: 'a', name: 'f', input: {} })
    expect(got[10].delta.partial_json + got[11].delta.partial_json).toBe('{"x":1}')
    expect(got[7].delta).toEqual({ type: 'text_delta', text: '\nHi' })
    expect(got.at(-2)).toMatchObject({
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { input_tokens: 10, output_tokens: 3, cache_read_input_tokens: 0 },
    })
  })

  test('check 73: message_start has type, role, no content, and the prompt counted', async () => {
    const engine = new ScriptedEngine({
      deltas: [{ content: 'a' }],
      beforeChunk: (_, call) => reportUsage(call, { promptTokens: 10, cachedTokens: 8 }),
    })
    expect((await events(engine))[0].message).toEqual({
      id: expect.stringMatching(/^msg_/),
      type: 'message',
      role: 'assistant',
      model: chatModel.id,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 0,
      },
    })
  })

  test('check 76: the matched stop sequence is reported at the end', async () => {
    const engine = new ScriptedEngine({ deltas: [{ content: 'a' }], stopReason: 'END' })
    const got = await events(engine, { ...message, stop_sequences: ['END'] })
    expect(got.at(-2).delta).toEqual({ stop_reason: 'stop_sequence', stop_sequence: 'END' })
  })

  test('check 72: every event has a line with its name, whatever the engine sends', async () => {
    const delta = fc.oneof(
      fc.record({ reasoning: fc.string() }),
      fc.record({ content: fc.string() }),
      fc.record({ arguments: fc.string() }).map((f) => tool(0, { function: { name: 'f', ...f } })),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(delta, { maxLength: 12 }), async (deltas) => {
        const got = await events(new ScriptedEngine({ deltas }))
        expectWellFormed(got)
      }),
      { numRuns: 200 },
    )
  })

  test('interleaved tool calls are an error, never lost', async () => {
    const engine = new ScriptedEngine({
      deltas: [
        tool(0, { id: 'a', function: { name: 'f', arguments: '{' } }),
        tool(1, { id: 'b', function: { name: 'g', arguments: '{' } }),
        tool(0, { function: { arguments: '}' } }),
      ],
    })
    expect((await events(engine)).at(-1).type).toBe('error')
  })
})

describe('count_tokens', () => {
  test('check 82: the engine counts exactly the chat that the message would become', async () => {
    const body = {
      model: chatModel.id,
      system: [{ type: 'text', text: 'S' }],
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
      messages: message.messages,
      cache_salt: 's'.repeat(44),
    }
    const counting = new ScriptedEngine({ tokens: 42 })
    const { status, json } = await ask(counting, '/v1/messages/count_tokens', body)
    expect([status, json]).toEqual([200, { input_tokens: 42 }])
    const asking = new ScriptedEngine({ deltas: [{ content: 'a' }] })
    await ask(asking, path, { ...body, max_tokens: 5 })
    const { max_tokens: _, max_completion_tokens: __, ...sent } = asking.calls[0]!.body
    expect(counting.counted[0]).toEqual(sent)
  })
})

// biome-ignore lint/suspicious/noExplicitAny: wire events are what the test is about
function expectWellFormed(events: readonly any[]): void {
  if (events.at(-1).type === 'error') return
  let open: number | undefined
  let next = 0
  for (const event of events) {
    if (event.type === 'content_block_start') {
      expect([open, event.index]).toEqual([undefined, next])
      open = next
    } else if (event.type === 'content_block_delta') expect(event.index).toBe(open)
    else if (event.type === 'content_block_stop') {
      expect(event.index).toBe(open)
      open = undefined
      next++
    }
  }
  expect(open).toBeUndefined()
  expect(events.at(0).type).toBe('message_start')
  expect(events.at(-1).type).toBe('message_stop')
}
