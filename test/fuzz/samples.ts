/** Valid requests and events that several targets start from. */
import type { EngineModel } from '../../packages/inference/src/engine.ts'

export const model: EngineModel = {
  id: 'm',
  tasks: ['generate', 'embed'],
  digest: 'ab',
  contextLength: 8192,
  displayName: 'm',
  created: 0,
  vision: true,
}

export const message = {
  model: 'm',
  max_tokens: 5,
  system: [{ type: 'text', text: 's' }],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 't' }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: { a: 1 } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'r' }] },
  ],
  tools: [{ name: 'f', input_schema: { type: 'object' } }],
  thinking: { type: 'enabled', budget_tokens: 1024 },
}

export const response = {
  model: 'm',
  instructions: 'i',
  input: [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 't' }] },
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: 'r' },
  ],
  tools: [{ type: 'function', name: 'f', parameters: {} }],
}

export const messageEvents = [
  { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
  { type: 'content_block_stop', index: 0 },
  {
    type: 'content_block_start',
    index: 1,
    content_block: { type: 'tool_use', id: 't', name: 'f' },
  },
  {
    type: 'content_block_delta',
    index: 1,
    delta: { type: 'input_json_delta', partial_json: '{}' },
  },
  { type: 'content_block_stop', index: 1 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
]

export const responseEvents = [
  { type: 'response.completed', response: { object: 'response', status: 'completed', output: [] } },
]
