/** What callers get. */
import {
  about,
  anyOf,
  constant,
  count,
  fields,
  flag,
  integer,
  listOf,
  nullable,
  number,
  oneOf,
  openObject,
  ref,
  type Schema,
  text,
} from './schema.ts'

const finishReason = oneOf('stop', 'length', 'tool_calls', 'content_filter')
const stopReason = about('The stop string or token that was met.', nullable(anyOf(text, integer)))
const toolCall = fields({
  id: text,
  type: constant('function'),
  function: fields({ name: text, arguments: text }),
})

export const responseSchemas: Readonly<Record<string, Schema>> = {
  Usage: fields({
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    'prompt_tokens_details?': about(
      'Absent where the model server does not tell what its cache had.',
      fields({ cached_tokens: count }),
    ),
    'completion_tokens_details?': nullable(openObject),
  }),
  ChatCompletion: fields({
    id: text,
    object: constant('chat.completion'),
    created: integer,
    model: text,
    choices: listOf(
      fields({
        index: count,
        message: fields({
          role: constant('assistant'),
          content: nullable(text),
          refusal: nullable(text),
          tool_calls: listOf(toolCall),
          'reasoning?': nullable(text),
          'reasoning_content?': nullable(text),
        }),
        logprobs: nullable(openObject),
        finish_reason: finishReason,
        stop_reason: stopReason,
      }),
    ),
    usage: ref('Usage'),
    prompt_logprobs: nullable(listOf(nullable(openObject))),
  }),
  ChatCompletionChunk: fields({
    id: text,
    object: constant('chat.completion.chunk'),
    created: integer,
    model: text,
    choices: listOf(
      fields({
        index: count,
        delta: fields({ 'role?': constant('assistant'), 'content?': nullable(text) }),
        logprobs: nullable(openObject),
        finish_reason: nullable(finishReason),
        'stop_reason?': stopReason,
      }),
    ),
    'usage?': nullable(ref('Usage')),
  }),
  Completion: fields({
    id: text,
    object: constant('text_completion'),
    created: integer,
    model: text,
    choices: listOf(
      fields({
        index: count,
        text,
        logprobs: nullable(openObject),
        finish_reason: nullable(finishReason),
        stop_reason: stopReason,
      }),
    ),
    'usage?': nullable(ref('Usage')),
  }),
  Embeddings: fields({
    id: text,
    object: constant('list'),
    created: integer,
    model: text,
    data: listOf(
      fields({
        index: count,
        object: constant('embedding'),
        embedding: about(
          'Numbers, or base64 of little-endian 32-bit floats.',
          anyOf(listOf(number), text),
        ),
      }),
    ),
    usage: fields({ prompt_tokens: count, total_tokens: count }),
  }),
  Message: fields({
    id: text,
    type: constant('message'),
    role: constant('assistant'),
    content: listOf(
      anyOf(
        fields({ type: constant('text'), text }),
        fields({ type: constant('thinking'), thinking: text, signature: text }),
        fields({ type: constant('tool_use'), id: text, name: text, input: openObject }),
      ),
    ),
    model: text,
    stop_reason: oneOf(
      'end_turn',
      'max_tokens',
      'stop_sequence',
      'tool_use',
      'pause_turn',
      'refusal',
      'model_context_window_exceeded',
    ),
    stop_sequence: nullable(text),
    usage: about(
      'Cached tokens are not reported: input_tokens is the whole prompt.',
      fields({ input_tokens: count, output_tokens: count }),
    ),
  }),
  MessageEvent: about(
    'An event whose name is the type of its data.',
    fields({
      type: oneOf(
        'message_start',
        'content_block_start',
        'content_block_delta',
        'content_block_stop',
        'message_delta',
        'message_stop',
        'ping',
        'error',
      ),
    }),
  ),
  TokenCount: fields({ input_tokens: count }),
  Response: fields({
    id: text,
    object: constant('response'),
    created_at: integer,
    status: oneOf('in_progress', 'completed', 'incomplete', 'failed'),
    model: text,
    output: listOf(fields({ type: text, id: text })),
    error: nullable(openObject),
    incomplete_details: nullable(openObject),
    usage: nullable(fields({ input_tokens: count, output_tokens: count, total_tokens: count })),
  }),
  ResponseEvent: about(
    'An event whose name is the type of its data.',
    fields({ type: text, sequence_number: count }),
  ),
  Model: fields({
    id: text,
    object: constant('model'),
    created: integer,
    owned_by: text,
    type: constant('model'),
    display_name: text,
    created_at: text,
    tasks: listOf(oneOf('generate', 'embed')),
    'context_length?': count,
    'input_modalities?': listOf(oneOf('text', 'image')),
  }),
  ModelList: fields({
    object: constant('list'),
    data: listOf(ref('Model')),
    has_more: flag,
    first_id: nullable(text),
    last_id: nullable(text),
  }),
  OpenAiError: fields({
    error: fields({ message: text, type: text, param: nullable(text), code: nullable(text) }),
  }),
  AnthropicError: fields({
    type: constant('error'),
    error: fields({ type: text, message: text }),
    request_id: text,
  }),
}
