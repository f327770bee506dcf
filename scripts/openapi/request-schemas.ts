/** What callers send. Fields that are not listed are accepted and passed on to the model server. */
import {
  about,
  anyOf,
  anything,
  constant,
  fields,
  flag,
  integer,
  listOf,
  nullable,
  number,
  oneOf,
  openObject,
  range,
  type Schema,
  text,
} from './schema.ts'

const optional = nullable
const model = about('Name of a currently available model. The name latest is deprecated.', text)
const cacheSalt = about(
  'Secret with at least 256 bits of entropy; requests with the same salt share a prompt cache. It wins over the default of the client.',
  { type: 'string', minLength: 32, maxLength: 1024 },
)
const positive: Schema = { type: 'integer', minimum: 1 }
const textPart = fields({ type: constant('text'), text })
const imagePart = fields({
  type: constant('image_url'),
  image_url: fields({ url: about('A data: URL with base64 content; nothing is fetched.', text) }),
})
const tokenInput = anyOf(text, listOf(text), listOf(integer), listOf(listOf(integer)))

const sampling = {
  'temperature?': optional(range(0, 2)),
  'top_p?': optional({ type: 'number', exclusiveMinimum: 0, maximum: 1 }),
  'frequency_penalty?': optional(range(-2, 2)),
  'presence_penalty?': optional(range(-2, 2)),
  'n?': optional({ type: 'integer', minimum: 1, maximum: 128 }),
  'stop?': optional(anyOf(text, { type: 'array', items: text, maxItems: 4 })),
  'seed?': optional(integer),
  'logit_bias?': optional({ type: 'object', additionalProperties: range(-100, 100) }),
  'stream?': optional(flag),
  'stream_options?': optional(fields({ 'include_usage?': flag })),
  'prompt_logprobs?': optional({ type: 'integer', minimum: 0, maximum: 20 }),
  'cache_salt?': optional(cacheSalt),
  'user?': optional(text),
} as const

const functionTool = fields({
  type: constant('function'),
  function: fields({
    name: text,
    'description?': text,
    'parameters?': openObject,
    'strict?': anything,
  }),
})

export const requestSchemas: Readonly<Record<string, Schema>> = {
  ChatMessage: fields({
    role: oneOf('system', 'developer', 'user', 'assistant', 'tool'),
    'content?': nullable(anyOf(text, listOf(anyOf(textPart, imagePart, openObject)))),
    'tool_calls?': listOf(openObject),
    'tool_call_id?': text,
    'reasoning?': nullable(text),
    'reasoning_content?': nullable(text),
  }),
  ChatRequest: fields({
    model,
    messages: { type: 'array', minItems: 1, items: { $ref: '#/components/schemas/ChatMessage' } },
    ...sampling,
    'max_completion_tokens?': optional(positive),
    'max_tokens?': optional(positive),
    'logprobs?': optional(flag),
    'top_logprobs?': optional({ type: 'integer', minimum: 0, maximum: 20 }),
    'tools?': optional(listOf(functionTool)),
    'tool_choice?': optional(anyOf(oneOf('none', 'auto', 'required'), openObject)),
    'parallel_tool_calls?': optional(flag),
    'response_format?': optional(
      fields({ type: oneOf('text', 'json_object', 'json_schema'), 'json_schema?': openObject }),
    ),
    'reasoning_effort?': optional(text),
  }),
  CompletionRequest: fields({
    model,
    prompt: tokenInput,
    ...sampling,
    'max_tokens?': optional({ ...positive, default: 16 }),
    'logprobs?': optional({ type: 'integer', minimum: 0, maximum: 20 }),
    'echo?': optional(flag),
  }),
  EmbeddingsRequest: fields({
    model: about('Name of an embedding model.', text),
    input: about('Up to 2048 inputs, none of them empty.', tokenInput),
    'dimensions?': optional(positive),
    'encoding_format?': optional({ ...oneOf('float', 'base64'), default: 'float' }),
    'cache_salt?': optional(cacheSalt),
    'user?': optional(text),
  }),
  MessagesRequest: fields({
    model,
    max_tokens: positive,
    messages: {
      type: 'array',
      minItems: 1,
      items: fields({
        role: oneOf('user', 'assistant', 'system'),
        content: anyOf(text, listOf(fields({ type: text }))),
      }),
    },
    'system?': optional(anyOf(text, listOf(textPart))),
    'stream?': optional(flag),
    'temperature?': optional(range(0, 2)),
    'top_p?': optional(number),
    'top_k?': optional(integer),
    'stop_sequences?': optional(listOf(text)),
    'tools?': optional(listOf(fields({ name: text, 'input_schema?': openObject }))),
    'tool_choice?': optional(fields({ type: oneOf('auto', 'any', 'tool', 'none') })),
    'thinking?': optional(fields({ type: oneOf('enabled', 'disabled', 'adaptive') })),
    'output_config?': optional(openObject),
    'cache_salt?': optional(cacheSalt),
  }),
  CountTokensRequest: fields({ model, messages: listOf(openObject), 'system?': anything }),
  ResponsesRequest: fields({
    model,
    input: anyOf(text, listOf(openObject)),
    'instructions?': optional(text),
    'max_output_tokens?': optional(positive),
    'stream?': optional(flag),
    'temperature?': optional(range(0, 2)),
    'top_p?': optional(number),
    'tools?': optional(listOf(fields({ type: text }))),
    'tool_choice?': optional(anything),
    'text?': optional(openObject),
    'reasoning?': optional(openObject),
    'store?': about('Nothing is kept between requests, whatever is asked.', optional(flag)),
    'cache_salt?': optional(cacheSalt),
  }),
}
