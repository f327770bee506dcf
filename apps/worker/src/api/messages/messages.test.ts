/** Messages: what the engine sees of a request, and the message object that comes back. */
import { describe, expect, test } from 'bun:test'
import { EngineError, type JsonObject } from '../../engine/engine.ts'
import { ask } from '../../testing/ask.ts'
import { chatModel, ScriptedEngine } from '../../testing/scripted-engine.ts'

const path = '/v1/messages'
const message = { model: chatModel.id, max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] }
const hello = () => new ScriptedEngine({ deltas: [{ reasoning: 'hm' }, { content: 'Hello' }] })

async function chatSeen(fields: JsonObject): Promise<JsonObject> {
  const engine = hello()
  const { status, json } = await ask(engine, path, { ...message, ...fields })
  expect([status, json.error]).toEqual([200, undefined])
  return engine.calls[0]!.body
}

describe('the message object', () => {
  test('check 81: it has every field, input_tokens is the whole prompt, and nothing cached is told', async () => {
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

  test('check 75: thinking comes first where it was asked for, and only there', async () => {
    for (const type of ['enabled', 'adaptive']) {
      const { json } = await ask(hello(), path, { ...message, thinking: { type } })
      expect(json.content.map((block: JsonObject) => block.type)).toEqual(['thinking', 'text'])
      expect(json.content[0]).toMatchObject({ thinking: 'hm', signature: expect.any(String) })
    }
    const { json } = await ask(hello(), path, { ...message, thinking: { type: 'disabled' } })
    expect(json.content.map((block: JsonObject) => block.type)).toEqual(['text'])
  })

  test('check 76: every stop reason is told', async () => {
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

describe('what the engine sees', () => {
  test('check 77: system is text or blocks, also inside the messages', async () => {
    const blocks = [
      { type: 'text', text: 'A', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'B' },
    ]
    const inside = [{ role: 'system', content: 'C' }, ...message.messages]
    expect((await chatSeen({ system: blocks, messages: inside })).messages).toEqual([
      { role: 'system', content: 'A\n\nB\n\nC' },
      { role: 'user', content: 'hi' },
    ])
    expect((await chatSeen({ system: 'S' })).messages).toMatchObject([{ content: 'S' }, {}])
  })

  test('check 77: a later system message keeps its place, so that the prefix stays the same', async () => {
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'system', content: 'note' },
      { role: 'user', content: 'b' },
    ]
    expect((await chatSeen({ messages })).messages).toEqual([
      { role: 'user', content: 'a\n\nnote\n\nb' },
    ])
  })

  test('check 90: the billing block of an agent is taken out before templating', async () => {
    const billing = (n: number) => `x-anthropic-billing-header: cc_version=2.1.${n}; cch=${n};`
    const asked = async (n: number) =>
      (
        await chatSeen({
          system: [
            { type: 'text', text: billing(n) },
            { type: 'text', text: 'S' },
          ],
        })
      ).messages
    expect(await asked(1)).toEqual(await asked(2))
    expect(await asked(1)).toMatchObject([{ role: 'system', content: 'S' }, {}])
    const plain = await chatSeen({ system: `${billing(3)}\nS` })
    expect(plain.messages).toMatchObject([{ content: 'S' }, {}])
  })

  test('check 77: fields of the dialect are accepted and do not reach the engine', async () => {
    const fields = {
      tools: [],
      thinking: { type: 'enabled', budget_tokens: 1024 },
      output_config: { effort: 'low' },
      context_management: { edits: [] },
      metadata: { user_id: 'u' },
      betas: ['x'],
    }
    const seen = await chatSeen(fields)
    for (const name of Object.keys(fields)) expect(seen).not.toHaveProperty(name)
    expect(seen).toMatchObject({
      reasoning_effort: 'low',
      chat_template_kwargs: { enable_thinking: true },
    })
  })

  test('a schema for the output becomes a response format', async () => {
    const schema = { type: 'object' }
    const seen = await chatSeen({ output_config: { format: { type: 'json_schema', schema } } })
    expect(seen.response_format).toMatchObject({ type: 'json_schema', json_schema: { schema } })
  })

  test('check 78: temperature, top_p, top_k, stop sequences and unknown fields reach it', async () => {
    const fields = { temperature: 0.5, top_p: 0.9, top_k: 40, min_p: 0.1 }
    expect(await chatSeen({ ...fields, stop_sequences: ['a', 'b', 'c', 'd', 'e'] })).toMatchObject({
      ...fields,
      stop: ['a', 'b', 'c', 'd', 'e'],
      max_tokens: 50,
    })
  })

  test('tools and the choice among them are translated', async () => {
    const tools = [{ name: 'f', description: 'd', input_schema: { type: 'object' } }]
    const choices: [JsonObject, unknown][] = [
      [{ type: 'auto' }, 'auto'],
      [{ type: 'any' }, 'required'],
      [{ type: 'none' }, 'none'],
      [
        { type: 'tool', name: 'f' },
        { type: 'function', function: { name: 'f' } },
      ],
    ]
    for (const [tool_choice, expected] of choices)
      expect((await chatSeen({ tools, tool_choice })).tool_choice).toEqual(expected)
    const seen = await chatSeen({
      tools,
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    })
    expect(seen.parallel_tool_calls).toBe(false)
    expect(seen.tools).toEqual([
      {
        type: 'function',
        function: { name: 'f', description: 'd', parameters: { type: 'object' } },
      },
    ])
  })

  test('check 75: echoed thinking is given back to the model, and redacted thinking accepted', async () => {
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 'x' },
      { type: 'redacted_thinking', data: 'x' },
      { type: 'text', text: 'a' },
      { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } },
    ]
    const result = { type: 'tool_result', tool_use_id: 't', content: 'r' }
    const messages = [
      ...message.messages,
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'text', text: 'and?' }, result] },
    ]
    expect((await chatSeen({ messages })).messages).toEqual([
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: 'a',
        reasoning: 'hm',
        reasoning_content: 'hm',
        tool_calls: [{ id: 't', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
      },
      { role: 'tool', tool_call_id: 't', content: 'r' },
      { role: 'user', content: 'and?' },
    ])
  })

  test('check 84: an image in the result of a tool is not dropped', async () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }
    const result = {
      type: 'tool_result',
      tool_use_id: 't',
      is_error: true,
      content: [
        { type: 'text', text: 'r' },
        { type: 'image', source },
      ],
    }
    const messages = [{ role: 'user', content: [result] }]
    expect((await chatSeen({ model: 'eyes', messages })).messages).toEqual([
      { role: 'tool', tool_call_id: 't', content: 'error: r\n[image 1 follows]' },
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }],
      },
    ])
    expect((await ask(hello(), path, { ...message, messages })).status).toBe(400)
  })

  test('check 63: an image that would be fetched is refused', async () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://a/b.png' } }
    const messages = [{ role: 'user', content: [image] }]
    const { status, json } = await ask(hello(), path, { ...message, model: 'eyes', messages })
    expect([status, json.error.message]).toEqual([
      400,
      'images must be given as base64: the worker fetches nothing',
    ])
  })

  test('an answer that was begun is marked to be continued', async () => {
    const messages = [...message.messages, { role: 'assistant', content: 'Sure,' }]
    expect(await chatSeen({ messages })).toMatchObject({ continue_final_message: true })
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

  test('check 80: a prompt that is too long is said in the words that agents recover from', async () => {
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

  test('check 80: a limit that cannot be fitted is said as input length and max_tokens', async () => {
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

  test('an answer that the context cut says so', async () => {
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
