/** Bad input is 400 naming the field, in every dialect, before an engine is called. */
import { expect, test } from 'bun:test'
import type { JsonObject } from '../engine.ts'
import { ask } from '../testing/ask.ts'
import { chatModel, ScriptedEngine } from '../testing/scripted-engine.ts'

const messages = [{ role: 'user', content: 'hi' }]
const tool = (fields: JsonObject = {}) => ({
  type: 'function',
  function: { name: 'f', parameters: { type: 'object' }, ...fields },
})
const turn = (fields: JsonObject) => ({ messages: [{ role: 'user', content: 'hi', ...fields }] })
const called = (call: unknown) => turn({ role: 'assistant', tool_calls: [call] })
/** A list with one string converts to the same text wherever it is treated as a string. */
const listed = { type: 'image_url', image_url: { url: ['data:image/png;base64,AAAA'] } }
const system = (content: unknown) => ({ messages: [{ role: 'system', content }, ...messages] })

const requests: Readonly<Record<string, readonly [JsonObject, readonly [string, JsonObject][]]>> = {
  '/v1/chat/completions': [
    { model: chatModel.id, messages },
    [
      ['model', { model: undefined }],
      ['model', { model: 5 }],
      ['model', { model: '' }],
      ['user', { user: 5 }],
      ['reasoning_effort', { reasoning_effort: 1 }],
      ['logit_bias', { logit_bias: 5 }],
      ['stream', { stream: 'yes' }],
      ['stream_options', { stream: true, stream_options: 'usage' }],
      ['parallel_tool_calls', { tools: [tool()], parallel_tool_calls: 'yes' }],
      ['audio', { audio: { voice: 'a' } }],
      ['modalities', { modalities: 'text' }],
      ['function_call', { function_call: 'auto' }],
      ['tools', { tools: 'f' }],
      ['tools.0', { tools: ['f'] }],
      ['tools.0.type', { tools: [{ ...tool(), type: 'web_search' }] }],
      ['tools.0.function.name', { tools: [tool({ name: '' })] }],
      ['tools.0.function.name', { tools: [tool({ name: 'f'.repeat(257) })] }],
      ['tools.0.function.parameters', { tools: [tool({ parameters: 5 })] }],
      ['tool_choice', { tools: [tool()], tool_choice: 'some' }],
      ['tool_choice', { tools: [tool()], tool_choice: { type: 'custom' } }],
      ['response_format', { response_format: 'json' }],
      ['messages', { messages: [] }],
      ['messages', { messages: 'hi' }],
      ['messages.0', { messages: ['hi'] }],
      ['messages.0.role', turn({ role: 'judge' })],
      ['messages.0.content', turn({ content: 5 })],
      ['messages.0.content.0', turn({ content: ['hi'] })],
      ['messages.0.content.0.text', turn({ content: [{ type: 'text' }] })],
      ['messages.0.content.0.image_url', turn({ content: [{ type: 'image_url', image_url: {} }] })],
      ['messages.0.content.0.image_url', { model: 'eyes', ...turn({ content: [listed] }) }],
      ['messages.0.tool_call_id', turn({ role: 'tool' })],
      ['messages.0.tool_calls', turn({ role: 'assistant', tool_calls: 'f' })],
      ['messages.0.tool_calls.0.id', called({ function: { name: 'f' } })],
      [
        'messages.0.tool_calls.0.function.arguments',
        called({ id: 'a', function: { name: 'f', arguments: 5 } }),
      ],
    ],
  ],
  '/v1/completions': [
    { model: chatModel.id, prompt: 'hi' },
    [
      ['prompt', { prompt: undefined }],
      ['prompt', { prompt: '' }],
      ['prompt', { prompt: [] }],
      ['prompt', { prompt: Array.from({ length: 2049 }, () => 'a') }],
      ['prompt.1', { prompt: ['a', ''] }],
      ['prompt.0', { prompt: [[-1]] }],
      ['echo', { echo: 1 }],
      ['stream', { stream: 1 }],
      ['logprobs', { logprobs: 21 }],
      ['stop', { stop: ['a', 'b', 'c', 'd', 'e'] }],
      ['prompt_logprobs', { prompt_logprobs: 1, stream: true }],
    ],
  ],
  '/v1/messages': [
    { model: chatModel.id, messages, max_tokens: 9 },
    [
      ['messages', { messages: [] }],
      ['messages', { messages: [], system: 'be brief' }],
      ['messages.0.role', turn({ role: 'judge' })],
      ['messages.0.content.0.type', turn({ content: [{ type: 'audio' }] })],
      ['messages.0.content.0.type', turn({ role: 'assistant', content: [{ type: 'image' }] })],
      ['system.0.type', { system: [{ type: 'image' }] }],
      ['messages.0.content.0.type', system([{ type: 'image' }])],
      ['stop_sequences', { stop_sequences: 'a' }],
      ['stop_sequences', { stop_sequences: [''] }],
      ['stop_sequences', { stop_sequences: Array.from({ length: 65 }, () => 'a') }],
      ['temperature', { temperature: 'hot' }],
      ['top_k', { top_k: 1.5 }],
      ['stream', { stream: 'yes' }],
      ['metadata', { metadata: 'me' }],
      ['service_tier', { service_tier: 5 }],
      ['thinking', { thinking: true }],
      ['thinking.type', { thinking: { type: 'loud' } }],
      ['output_config.format.type', { output_config: { format: { type: 'xml' } } }],
      ['output_config.format.schema', { output_config: { format: { type: 'json_schema' } } }],
      ['tool_choice.type', { tool_choice: { type: 'some' } }],
      ['tools.0.input_schema', { tools: [{ name: 'f' }] }],
    ],
  ],
  '/v1/responses': [
    { model: chatModel.id, input: 'hi' },
    [
      ['input', { input: undefined }],
      ['input', { input: [] }],
      ['input.0', { input: ['hi'] }],
      ['input.0.type', { input: [{ type: 'computer_call' }] }],
      ['input.0.type', { input: [{ type: 'item_reference', id: 'a' }] }],
      ['input.0.role', { input: [{ role: 'judge', content: 'hi' }] }],
      ['input.0.content.0.type', { input: [{ role: 'user', content: [{ type: 'input_file' }] }] }],
      [
        'input.0',
        { input: [{ role: 'system', content: [{ type: 'input_image', image_url: 'data:,' }] }] },
      ],
      ['input.0.call_id', { input: [{ type: 'function_call_output', output: 'a' }] }],
      ['max_output_tokens', { max_output_tokens: 0 }],
      ['instructions', { instructions: 5 }],
      ['stream', { stream: 'yes' }],
      ['reasoning', { reasoning: 'high' }],
      ['reasoning.effort', { reasoning: { effort: 5 } }],
      ['text', { text: 'plain' }],
      ['response_format.type', { text: { format: { type: 'xml' } } }],
      ['store', { store: 'yes' }],
      ['background', { background: true }],
      ['previous_response_id', { previous_response_id: 'resp_1' }],
      ['conversation', { conversation: 'conv_1' }],
      ['prompt', { prompt: { id: 'p' } }],
      ['tool_choice', { tools: [{ ...tool(), name: 'f' }], tool_choice: 5 }],
      ['tool_choice', { tools: [{ ...tool(), name: 'f' }], tool_choice: 'some' }],
      ['tool_choice.type', { tools: [{ ...tool(), name: 'f' }], tool_choice: { type: 'mcp' } }],
    ],
  ],
  '/v1/embeddings': [
    { model: 'embed', input: 'hi' },
    [
      ['input', { input: undefined }],
      ['input', { input: Array.from({ length: 2049 }, () => 'a') }],
      ['dimensions', { dimensions: 0 }],
      ['encoding_format', { encoding_format: 'hex' }],
      ['user', { user: 5 }],
    ],
  ],
}

for (const [path, [good, bad]] of Object.entries(requests)) {
  test(`${path}: every wrong field is named, and the engine is not called`, async () => {
    for (const [param, fields] of bad) {
      const engine = new ScriptedEngine()
      const { status, json } = await ask(engine, path, { ...good, ...fields })
      // This dialect has no param field, so the message names it.
      const told = path === '/v1/messages' ? /'([^']*)'/.exec(json.error.message)?.[1] : undefined
      expect([fields, status, told ?? json.error?.param]).toEqual([fields, 400, param])
      expect(engine.calls).toHaveLength(0)
    }
  })
}

test('an engine that streams unasked, or does not stream when asked, has failed', async () => {
  const engine = new ScriptedEngine({ deltas: [{ content: 'a' }] })
  const turned = Object.assign(Object.create(engine), {
    models: () => engine.models(),
    speaks: () => true,
    call: (call: Parameters<typeof engine.call>[0]) =>
      engine.call({ ...call, stream: !call.stream }),
  })
  for (const [path, [good]] of Object.entries(requests))
    for (const stream of path === '/v1/embeddings' ? [false] : [false, true]) {
      const { status, json } = await ask(turned, path, { ...good, stream })
      const message = stream ? 'engine did not stream' : 'engine streamed unasked'
      expect([path, status, json.error.message]).toEqual([path, 500, message])
    }
})
