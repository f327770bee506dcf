/** Messages: the returned object, and what is refused. */
import { describe, expect, test } from 'bun:test'
import { EngineError, type JsonObject } from '../../engine.ts'
import { ask } from '../../testing/ask.ts'
import { chatModel, ScriptedEngine } from '../../testing/scripted-engine.ts'
import { chatToMessage } from './message-answer.ts'

const path = '/v1/messages'
const message = { model: chatModel.id, max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] }
const hello = () => new ScriptedEngine({ deltas: [{ reasoning: 'hm' }, { content: 'Hello' }] })

describe('the message object', () => {
  test('arguments that a server sends as an object become the input', () => {
    const message = { tool_calls: [{ id: 'c1', function: { name: 'f', arguments: { a: 1 } } }] }
    const chat = { choices: [{ message, finish_reason: 'tool_calls' }] }
    const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1 }
    const context = { model: 'm', withThinking: false, stopSequences: [] }
    const { content } = chatToMessage(chat, usage, false, context)
    expect(content).toEqual([{ type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } }])
  })

  test('check 81: it has every field, input_tokens is the whole prompt, and nothing cached is reported', async () => {
    expect((await ask(hello(), path, message)).json).toEqual({
      id: expect.stringMatching(/^msg_/),
      type: 'message',
      role: 'assistant',
      model: chatModel.id,
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 3,
      },
    })
  })

  test('check 75: thinking comes first if requested, and only then', async () => {
    for (const type of ['enabled', 'adaptive']) {
      const { json } = await ask(hello(), path, { ...message, thinking: { type } })
      expect(json.content.map((block: JsonObject) => block.type)).toEqual(['thinking', 'text'])
      expect(json.content[0]).toMatchObject({ thinking: 'hm', signature: expect.any(String) })
    }
    const { json } = await ask(hello(), path, { ...message, thinking: { type: 'disabled' } })
    expect(json.content.map((block: JsonObject) => block.type)).toEqual(['text'])
  })

  test('check 76: every stop reason is reported', async () => {
    const ends: [string, string | null, string, string | null][] = [
      ['stop', null, 'end_turn', null],
      ['length', null, 'max_tokens', null],
      ['stop', 'END', 'stop_sequence', 'END'],
      ['stop', 'other', 'end_turn', null],
      ['content_filter', null, 'refusal', null],
    ]
    for (const [finishReason, stopReason, stop_reason, stop_sequence] of ends) {
      const engine = new ScriptedEngine({ deltas: [{ content: 'a' }], finishReason, stopReason })
      const { json } = await ask(engine, path, { ...message, stop_sequences: ['END'] })
      expect(json).toMatchObject({ stop_reason, stop_sequence })
    }
  })

  test('check 74: a tool call is a tool_use block with its input parsed', async () => {
    const call = { index: 0, id: 'c1', function: { name: 'f', arguments: '{"a":1}' } }
    const engine = new ScriptedEngine({ deltas: [{ content: '\n\n' }, { tool_calls: [call] }] })
    const tools = [{ name: 'f', input_schema: { type: 'object' } }]
    const { json } = await ask(engine, path, { ...message, tools })
    expect(json.content).toEqual([{ type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } }])
    expect(json.stop_reason).toBe('tool_use')
  })
})

describe('refusals', () => {
  test.each([undefined, 0, '5', -1, 1.5, null])(
    'check 78: max_tokens of %p is 400',
    async (max_tokens) => {
      const { status, json } = await ask(hello(), path, { ...message, max_tokens })
      expect([status, json.error.type]).toEqual([400, 'invalid_request_error'])
      expect(json.error.message).toContain('max_tokens')
    },
  )

  test('check 80: a prompt that is too long is reported in the wording that agents recover from', async () => {
    const long = new ScriptedEngine({
      before: () => {
        throw new EngineError('context_length_exceeded', 'too long', { promptTokens: 1200 })
      },
    })
    const { status, json } = await ask(long, path, message)
    expect([status, json.error.message]).toEqual([
      400,
      'prompt is too long: 1200 tokens > 1000 maximum',
    ])
  })

  test('check 80: a limit that cannot be reduced is reported as input length and max_tokens', async () => {
    const tight = new ScriptedEngine({
      before: () => {
        throw new EngineError('context_length_exceeded', 'too long', { promptTokens: 960 })
      },
    })
    const { json } = await ask(tight, path, message)
    expect(json.error.message).toBe(
      'input length and `max_tokens` exceed context limit: 960 + 50 > 1000',
    )
  })

  test('an answer truncated by the context says so', async () => {
    const engine = new ScriptedEngine({
      deltas: [{ content: 'a' }],
      finishReason: 'length',
      before: (call) => {
        if (call.body.max_tokens === 50)
          throw new EngineError('context_length_exceeded', 'too long', { promptTokens: 990 })
      },
    })
    const { json } = await ask(engine, path, message)
    expect(json.stop_reason).toBe('model_context_window_exceeded')
  })
})
