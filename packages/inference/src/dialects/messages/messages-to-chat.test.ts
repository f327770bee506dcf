/** What an engine receives for a messages request. */
import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../engine.ts'
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

describe('what the engine receives', () => {
  test('check 77: system is text or blocks, and may appear inside the messages', async () => {
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

  test('check 90: an agent’s billing block is removed before templating', async () => {
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

  test('check 27: temperature, top_p, top_k, stop sequences and unknown fields reach it', async () => {
    const fields = { temperature: 0.5, top_p: 0.9, top_k: 40, min_p: 0.1 }
    expect(await chatSeen({ ...fields, stop_sequences: ['a', 'b', 'c', 'd', 'e'] })).toMatchObject({
      ...fields,
      stop: ['a', 'b', 'c', 'd', 'e'],
      max_tokens: 50,
    })
  })

  test('a stop sequence has 1 to 1,024 characters, and there are up to 64', async () => {
    const many = Array(64).fill('a'.repeat(1024))
    expect(await chatSeen({ stop_sequences: many })).toMatchObject({ stop: many })
    for (const stop_sequences of [[''], ['a'.repeat(1025)], Array(65).fill('a')]) {
      const engine = new ScriptedEngine({ deltas: [{ content: 'a' }] })
      const { status } = await ask(engine, '/v1/messages', { ...message, stop_sequences })
      expect([status, engine.calls.length]).toEqual([400, 0])
    }
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

  test('check 75: echoed thinking is passed back to the model, and redacted thinking accepted', async () => {
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

  test('check 84: an image in a tool result is not dropped', async () => {
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
      'images must be given as base64: workers do not fetch URLs',
    ])
  })

  test('a partial answer is marked for continuation', async () => {
    const messages = [...message.messages, { role: 'assistant', content: 'Sure,' }]
    expect(await chatSeen({ messages })).toMatchObject({ continue_final_message: true })
  })
})
