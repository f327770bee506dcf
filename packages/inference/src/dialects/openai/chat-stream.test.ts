/** Chat completions as a stream: the rules that clients depend on. */
import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../engine.ts'
import { ask } from '../../testing/ask.ts'
import { chatModel, ScriptedEngine } from '../../testing/scripted-engine.ts'

const path = '/v1/chat/completions'
const chat = { model: chatModel.id, messages: [{ role: 'user', content: 'hi' }], stream: true }
const tools = [{ type: 'function', function: { name: 'f' } }]
const choice = (fields: JsonObject) => ({ choices: [{ index: 0, ...fields }] })

async function streamed(engine: ScriptedEngine, fields: JsonObject = {}) {
  const { status, events, text } = await ask(engine, path, { ...chat, ...fields })
  expect(status).toBe(200)
  expect(events.at(-1)?.data).toBe('[DONE]')
  const chunks = events.slice(0, -1).map((event) => event.data)
  return { chunks, text, choices: chunks.flatMap((chunk) => chunk.choices) }
}

describe('the stream', () => {
  test('check 35: one id, time and model; the role first; one finish reason; then the end mark', async () => {
    const engine = new ScriptedEngine({
      chunks: [
        { id: 'a', ...choice({ delta: { content: 'x' } }) },
        { id: 'b', ...choice({ delta: { role: 'assistant', content: 'y' } }) },
        choice({ delta: {}, finish_reason: 'stop' }),
        choice({ delta: {}, finish_reason: 'stop' }),
      ],
    })
    const { chunks, choices } = await streamed(engine)
    for (const name of ['id', 'created', 'model'])
      expect(new Set(chunks.map((chunk) => chunk[name])).size).toBe(1)
    expect(chunks[0]).toMatchObject({ object: 'chat.completion.chunk', model: chatModel.id })
    expect(choices.map((one) => one.delta.role)).toEqual([
      'assistant',
      undefined,
      undefined,
      undefined,
    ])
    expect(choices.map((one) => one.finish_reason)).toEqual([null, null, 'stop', null])
  })

  test('check 36: with include_usage one last chunk has the usage and no choices', async () => {
    const engine = new ScriptedEngine({ deltas: [{ content: 'a' }] })
    const { chunks } = await streamed(engine, { stream_options: { include_usage: true } })
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 10 } })
    for (const chunk of chunks.slice(0, -1)) expect(chunk.usage).toBeNull()
  })

  test('check 37: without include_usage no usage reaches the client, although the engine sent it', async () => {
    const chunks = [
      {
        ...choice({ delta: { content: 'a' } }),
        usage: { prompt_tokens: 10, completion_tokens: 1 },
      },
      { ...choice({ delta: {}, finish_reason: 'stop' }), usage: { completion_tokens: 1 } },
      { choices: [], usage: { prompt_tokens: 10, completion_tokens: 1 } },
    ]
    for (const stream_options of [undefined, { include_usage: false }]) {
      const got = await streamed(new ScriptedEngine({ chunks }), { stream_options })
      expect(got.text).not.toContain('usage')
      expect(got.chunks.every((chunk) => chunk.choices.length === 1)).toBe(true)
    }
    const { answer } = await ask(new ScriptedEngine({ chunks }), path, chat)
    expect(answer.usage()).toMatchObject({ promptTokens: 10, completionTokens: 1 })
  })

  test('check 38: stream_options without a stream are 400 on every engine', async () => {
    const body = { ...chat, stream: false, stream_options: { include_usage: true } }
    const { status, json } = await ask(new ScriptedEngine(), path, body)
    expect([status, json.error.param]).toEqual([400, 'stream_options'])
  })

  test('check 50: reasoning deltas have both names', async () => {
    const engine = new ScriptedEngine({ deltas: [{ reasoning: 'hm' }, { content: 'a' }] })
    const { choices } = await streamed(engine)
    expect(choices[0].delta).toMatchObject({ reasoning: 'hm', reasoning_content: 'hm' })
    expect(choices[1].delta).not.toHaveProperty('reasoning')
  })

  test('check 52: two choices keep their indices, roles and ends', async () => {
    const two = (fields: JsonObject) => ({ choices: [0, 1].map((index) => ({ index, ...fields })) })
    const chunks = [two({ delta: { content: 'a' } }), two({ delta: {}, finish_reason: 'stop' })]
    const { choices } = await streamed(new ScriptedEngine({ chunks }), { n: 2 })
    expect(choices.map((one) => [one.index, one.delta.role, one.finish_reason])).toEqual([
      [0, 'assistant', null],
      [1, 'assistant', null],
      [0, undefined, 'stop'],
      [1, undefined, 'stop'],
    ])
  })
})

describe('tool calls in a stream', () => {
  const delta = (call: JsonObject) => choice({ delta: { tool_calls: [call] } })
  const end = choice({ delta: {}, finish_reason: 'stop' })
  const callsOf = (choices: JsonObject[]) =>
    choices.flatMap((one) => ((one.delta as JsonObject).tool_calls as JsonObject[]) ?? [])

  test('check 45: the index is in every delta, id and name only in the first', async () => {
    const chunks = [
      delta({ index: 0, id: 'c1', function: { name: 'f', arguments: '' } }),
      delta({ index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a"' } }),
      delta({ index: 0, function: { arguments: ':1}' } }),
      end,
    ]
    const { choices } = await streamed(new ScriptedEngine({ chunks }), { tools })
    const calls = callsOf(choices)
    expect(calls).toEqual([
      { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '' } },
      { index: 0, function: { arguments: '{"a"' } },
      { index: 0, function: { arguments: ':1}' } },
    ])
    expect(choices.at(-1).finish_reason).toBe('tool_calls')
  })

  test('check 46: parallel calls have indices 0 and 1, even if a server omits them', async () => {
    const chunks = [
      delta({ id: 'c1', function: { name: 'f', arguments: '{' } }),
      delta({ function: { arguments: '}' } }),
      delta({ id: 'c2', function: { name: 'f', arguments: '{}' } }),
      end,
    ]
    const { choices } = await streamed(new ScriptedEngine({ chunks }), { tools })
    expect(callsOf(choices).map((call) => [call.index, call.id])).toEqual([
      [0, 'c1'],
      [0, undefined],
      [1, 'c2'],
    ])
  })

  test('check 46: parallel_tool_calls false lets only the first call through', async () => {
    const chunks = [
      delta({ index: 0, id: 'c1', function: { name: 'f', arguments: '{}' } }),
      delta({ index: 1, id: 'c2', function: { name: 'f', arguments: '{}' } }),
      end,
    ]
    const asked = { tools, parallel_tool_calls: false }
    const { choices } = await streamed(new ScriptedEngine({ chunks }), asked)
    expect(callsOf(choices).map((call) => call.id)).toEqual(['c1'])
  })

  test('calls without an index in one delta stay apart', async () => {
    const call = (id: string) => ({ id, function: { name: 'f', arguments: `{"${id}":1}` } })
    const chunks = [choice({ delta: { tool_calls: [call('c1'), call('c2'), call('c3')] } }), end]
    const { choices } = await streamed(new ScriptedEngine({ chunks }), { tools })
    expect(callsOf(choices)).toEqual(
      ['c1', 'c2', 'c3'].map((id, index) => ({ index, type: 'function', ...call(id) })),
    )
  })

  test('what follows a call that is left out is left out as well', async () => {
    const chunks = [
      delta({ id: 'c1', function: { name: 'f', arguments: '{}' } }),
      delta({ id: 'c2', function: { name: 'f', arguments: '{"a"' } }),
      delta({ function: { arguments: ':1}' } }),
      end,
    ]
    const asked = { tools, parallel_tool_calls: false }
    const { choices } = await streamed(new ScriptedEngine({ chunks }), asked)
    expect(callsOf(choices).map((call) => call.function)).toEqual([{ name: 'f', arguments: '{}' }])
  })

  test('a call without an id gets one', async () => {
    const chunks = [delta({ index: 0, function: { name: 'f' } }), end]
    const { choices } = await streamed(new ScriptedEngine({ chunks }), { tools })
    expect(callsOf(choices)[0]).toMatchObject({
      id: expect.stringMatching(/^call_/),
      type: 'function',
      function: { name: 'f', arguments: '' },
    })
  })
})
