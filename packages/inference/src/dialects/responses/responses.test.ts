/** Responses over the chat core: what Codex sends, and the events it reads. */
import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../engine.ts'
import { ask } from '../../testing/ask.ts'
import { chatModel, ScriptedEngine } from '../../testing/scripted-engine.ts'
import { outputItems } from './response-object.ts'

const path = '/v1/responses'
const base = { model: chatModel.id, input: 'hi', store: false }
const call = (name: string, args: string) => ({
  tool_calls: [{ index: 0, id: 'c1', function: { name, arguments: args } }],
})
const shell = { type: 'function', name: 'shell', parameters: { type: 'object' }, strict: false }
const patch = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files.',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
}

async function chatSeen(fields: JsonObject): Promise<JsonObject> {
  const engine = new ScriptedEngine({ deltas: [{ content: 'a' }] })
  const { status, json } = await ask(engine, path, { ...base, ...fields })
  expect([status, json.error]).toEqual([200, null])
  return engine.calls[0]!.body
}

describe('what the engine receives', () => {
  test('check 89: instructions, messages, calls, outputs and reasoning become one chat', async () => {
    const input = [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'rules' }] },
      { role: 'user', content: [{ type: 'input_text', text: 'list' }] },
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] },
      { type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{"a":1}' },
      { type: 'custom_tool_call', call_id: 'c2', name: 'apply_patch', input: '*** x' },
      { type: 'function_call_output', call_id: 'c1', output: 'done' },
      {
        type: 'custom_tool_call_output',
        call_id: 'c2',
        output: [{ type: 'input_text', text: 'yes' }],
      },
    ]
    const seen = await chatSeen({ instructions: 'be brief', input, tools: [shell, patch] })
    expect(seen.messages).toEqual([
      { role: 'system', content: 'be brief\n\nrules' },
      { role: 'user', content: 'list' },
      {
        role: 'assistant',
        content: 'ok',
        reasoning: 'hm',
        reasoning_content: 'hm',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'shell', arguments: '{"a":1}' } },
          {
            id: 'c2',
            type: 'function',
            function: { name: 'apply_patch', arguments: '{"input":"*** x"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'done' },
      { role: 'tool', tool_call_id: 'c2', content: 'yes' },
    ])
    expect(seen.tools).toMatchObject([
      { type: 'function', function: { name: 'shell' } },
      { type: 'function', function: { name: 'apply_patch', parameters: { required: ['input'] } } },
    ])
  })

  test('tools that only a hosted service runs are dropped', async () => {
    const seen = await chatSeen({ tools: [{ type: 'web_search' }, shell], tool_choice: 'auto' })
    expect(seen.tools).toHaveLength(1)
  })

  test('allowed_tools leaves the functions it lists', async () => {
    const tools = [shell, { ...shell, name: 'other' }, { type: 'local_shell' }]
    const allowed = (...listed: object[]) => ({
      tools,
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: listed },
    })
    const seen = await chatSeen(
      allowed({ type: 'function', name: 'other' }, { type: 'local_shell' }, { type: 'web_search' }),
    )
    expect(seen).toMatchObject({
      tool_choice: 'required',
      tools: [{ function: { name: 'other' } }, { function: { name: 'local_shell' } }],
    })
    for (const tool_choice of [
      allowed({ type: 'function', name: 'unknown' }).tool_choice,
      allowed().tool_choice,
      { type: 'allowed_tools', mode: 'auto', tools: 'shell' },
      { type: 'allowed_tools', mode: 'auto' },
    ]) {
      const { status, json } = await ask(new ScriptedEngine(), path, {
        ...base,
        tools,
        tool_choice,
      })
      expect([status, json.error.param]).toEqual([400, 'tool_choice.tools'])
    }
  })

  test('limits, formats and effort are translated, and fields of the dialect are consumed', async () => {
    const format = { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true }
    const seen = await chatSeen({
      max_output_tokens: 9,
      text: { format, verbosity: 'low' },
      reasoning: { effort: 'high', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'k',
    })
    expect(seen).toMatchObject({
      max_tokens: 9,
      reasoning_effort: 'high',
      response_format: { type: 'json_schema', json_schema: { name: 'n', strict: true } },
    })
    for (const name of ['input', 'text', 'reasoning', 'include', 'store', 'prompt_cache_key'])
      expect(seen).not.toHaveProperty(name)
  })

  test('fields that need state between requests are refused', async () => {
    const fields = { previous_response_id: 'r', conversation: 'c', background: true }
    for (const [param, value] of Object.entries(fields)) {
      const { status, json } = await ask(new ScriptedEngine(), path, { ...base, [param]: value })
      expect([status, json.error.param]).toEqual([400, param])
    }
  })
})

describe('the response', () => {
  test('check 89: a complete response has its output items and usage', async () => {
    const engine = new ScriptedEngine({
      deltas: [{ reasoning: 'hm' }, { content: 'Hello' }, call('shell', '{"a":1}')],
    })
    const { json } = await ask(engine, path, { ...base, tools: [shell] })
    expect(json).toMatchObject({
      object: 'response',
      status: 'completed',
      store: false,
      error: null,
    })
    expect(json.output).toMatchObject([
      { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'hm' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] },
      { type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{"a":1}' },
    ])
    expect(json.usage).toEqual({
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 13,
    })
  })

  test('arguments sent as an object become text, and an invalid name does no harm', () => {
    const strange = { toString: {} }
    const calls = [
      { id: 'c1', function: { name: 'f', arguments: { a: 1 } } },
      { id: 'c2', function: { name: [strange], arguments: null } },
    ]
    const context = { body: {}, model: 'm', kinds: new Map() }
    expect(outputItems({ tool_calls: calls }, context)).toMatchObject([
      { type: 'function_call', name: 'f', arguments: '{"a":1}' },
      { type: 'function_call', arguments: '{}' },
    ])
  })

  test('a truncated answer is incomplete', async () => {
    const engine = () => new ScriptedEngine({ deltas: [{ content: 'a' }], finishReason: 'length' })
    const { json } = await ask(engine(), path, base)
    expect(json).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    })
    const { events } = await ask(engine(), path, { ...base, stream: true })
    expect(events.at(-1)?.event).toBe('response.incomplete')
  })

  test('sealed reasoning sent back by the client reaches the model', async () => {
    const engine = new ScriptedEngine({ deltas: [{ reasoning: 'hm ✓' }, { content: 'a' }] })
    const include = ['reasoning.encrypted_content']
    const { json } = await ask(engine, path, { ...base, include })
    const { content: _, ...kept } = json.output[0]
    const seen = await chatSeen({ input: [kept, { role: 'user', content: 'go on' }] })
    expect(seen.messages).toMatchObject([{ reasoning: 'hm ✓' }, {}])
  })
})

describe('the stream', () => {
  test('check 89: events are named and numbered, and items do not overlap', async () => {
    const engine = new ScriptedEngine({
      deltas: [
        { reasoning: 'hm' },
        { content: 'He' },
        { content: 'llo' },
        call('shell', '{"a"'),
        call('shell', ':1}'),
      ],
      finishReason: 'tool_calls',
    })
    const { events } = await ask(engine, path, { ...base, stream: true, tools: [shell] })
    expect(events.map(({ event }) => event)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.reasoning_text.delta',
      'response.reasoning_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ])
    expect(events.map(({ data }) => data.sequence_number)).toEqual([...events.keys()])
    for (const { event, data } of events) expect(data.type).toBe(event)
    const done = events.filter(({ event }) => event === 'response.output_item.done')
    expect(done.map(({ data }) => data.output_index)).toEqual([0, 1, 2])
    expect(done[2]?.data.item).toMatchObject({ call_id: 'c1', arguments: '{"a":1}' })
    const last = events.at(-1)?.data.response
    expect(last.output).toEqual(done.map(({ data }) => data.item))
    expect(last.usage.total_tokens).toBe(13)
  })

  test('interleaved calls are a failure: none of their content may get lost', async () => {
    const piece = (index: number) => ({
      tool_calls: [{ index, id: `c${index}`, function: { name: 'shell', arguments: '{' } }],
    })
    const engine = new ScriptedEngine({ deltas: [piece(0), piece(1), piece(0)] })
    const { events } = await ask(engine, path, { ...base, stream: true, tools: [shell] })
    expect(events.at(-1)?.event).toBe('response.failed')
  })

  test('a custom tool call has its free text restored', async () => {
    const engine = new ScriptedEngine({ deltas: [call('apply_patch', '{"input":"*** x"}')] })
    const { events } = await ask(engine, path, { ...base, stream: true, tools: [patch] })
    const done = events.find(({ event }) => event === 'response.output_item.done')
    expect(done?.data.item).toMatchObject({
      type: 'custom_tool_call',
      name: 'apply_patch',
      input: '*** x',
    })
  })
})
