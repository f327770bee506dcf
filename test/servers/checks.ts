/** The table: one request each, sent directly and through the stack, and which parts of the answers must agree. */
import type { Json } from './entrances.ts'
import { picture, pictureBase64 } from './picture.ts'
import {
  chatStream,
  chatWhole,
  completionWhole,
  messageStream,
  messageWhole,
  modelNames,
  type Projection,
  refused,
  responseStream,
  responseWhole,
  tokenCount,
  vectors,
} from './projections.ts'
import { modelName as model, type Variant } from './real-server.ts'

export type Ours = { readonly holds: (value: Json) => boolean; readonly why: string }

export type Check = {
  readonly name: string
  readonly variant: Variant
  readonly path: string
  /** Undefined asks with GET. */
  readonly body: Json
  readonly read: Projection
  /** What must hold for both answers; agreement alone would allow both to be wrong. */
  readonly holds?: (value: Json) => boolean
  /** Intended differences: what ours answers instead. */
  readonly ours?: Ours
}

const user = (content: unknown) => ({ role: 'user', content })
const exact = { model, temperature: 0 }
const hello = 'Say hello.'
const greeting = 'Hello! How can I help you?'
const count = 'Count to one hundred and twenty.'
const paris = 'What is the weather in Paris?'
const both = 'What is the weather in Paris and the time in Rome?'
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const tools = ['get_weather', 'get_time'].map((name) => ({
  type: 'function',
  function: { name, description: 'tells it', parameters },
}))
const person = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 20 }, age: { type: 'integer', maximum: 99 } },
  required: ['name', 'age'],
  additionalProperties: false,
}
const invalidSchema = { type: 'no-such-type' }
const schema = (value: unknown) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'person', schema: value } },
})
const withUsage = { stream: true, stream_options: { include_usage: true } }
/** Several choices must be sampled, and yet be the same each time: one letter has one token. */
const sampled = { temperature: 1, structured_outputs: { choice: ['y'] } }
const isRefused = (value: Json) => value.status === 400
const firstText = (text: string) => (value: Json) => value.choices?.[0]?.text === text
const firstCall = (name: string, city: string) => (value: Json) => {
  const [called] = value.choices?.[0]?.calls ?? []
  return called?.[0] === name && called[1].city === city
}
const isPerson = (text: string) => {
  const { name, age } = JSON.parse(text)
  return typeof name === 'string' && Number.isInteger(age)
}

type Readers = { readonly stream: Check['read']; readonly whole: Check['read'] }

/** Makes the checks of one endpoint; `bodyOf` puts what is asked into its body. */
const checksOf =
  (label: string, path: string, readers: Readers, bodyOf: (asked: unknown) => Json) =>
  (
    name: string,
    asked: unknown,
    fields: Json,
    holds?: Check['holds'],
    more: Partial<Check> = {},
  ): Check => ({
    name: `${label}: ${name}`,
    variant: 'chat',
    path,
    body: { ...exact, ...bodyOf(asked), ...fields },
    read: fields.stream ? readers.stream : readers.whole,
    ...(holds && { holds }),
    ...more,
  })

const conversation = (content: unknown) => ({
  max_tokens: 40,
  messages: Array.isArray(content) ? content : [user(content)],
})
const chat = checksOf(
  'chat',
  '/v1/chat/completions',
  { stream: chatStream, whole: chatWhole },
  conversation,
)
const completion = checksOf(
  'completions',
  '/v1/completions',
  { stream: chatStream, whole: completionWhole },
  (prompt) => ({ max_tokens: 12, prompt }),
)
const message = checksOf(
  'messages',
  '/v1/messages',
  { stream: messageStream, whole: messageWhole },
  conversation,
)
const respond = checksOf(
  'responses',
  '/v1/responses',
  { stream: responseStream, whole: responseWhole },
  (input) => ({ max_output_tokens: 40, input, store: false }),
)

const fitted = (holds: Check['holds']) => ({
  ours: { holds: holds ?? (() => true), why: 'a limit beyond the context is fitted, not refused' },
})
const ruled = (why: string) => ({ ours: { holds: isRefused, why } })

const prompt = `<|user|>${hello}<|end|><|assistant|>`
const anthropicTools = tools.map(({ function: { name, description } }) => ({
  ...{ name, description, input_schema: parameters },
}))
const responseTools = tools.map(({ function: named }) => ({ type: 'function', ...named }))
const blockText = (text: string) => (value: Json) => value.content?.[0]?.text === text
const usesTool = (value: Json) => value.content?.at(-1)?.name === 'get_weather'
const output = (text: string) => (value: Json) => value.output?.[0] === text

const chatChecks: readonly Check[] = [
  chat('whole', hello, {}, firstText(greeting)),
  chat('with a system message', [{ role: 'system', content: 'Be brief.' }, user(hello)], {}),
  chat('content in parts', [user([{ type: 'text', text: hello }])], {}, firstText(greeting)),
  chat(
    'a second turn',
    [user('Hello!'), { role: 'assistant', content: greeting }, user('Who are you?')],
    ...[{}, firstText('I am a tiny model.')],
  ),
  chat('Unicode', 'Answer in Unicode.', {}, (value) => value.choices?.[0]?.text.includes('世界')),
  chat('Unicode in a stream', 'Answer in Unicode.', withUsage, (value) =>
    value.choices?.[0]?.text.includes('🌊'),
  ),
  chat('a long answer', count, { max_tokens: 600 }, (value) =>
    value.choices?.[0]?.text.includes('100 101'),
  ),
  chat(
    'max_tokens',
    count,
    { max_tokens: 5 },
    (value) => value.choices?.[0]?.finish_reason === 'length' && value.usage[1] === 5,
  ),
  chat(
    'max_completion_tokens',
    count,
    { max_tokens: undefined, max_completion_tokens: 7 },
    (value) => value.usage[1] === 7,
  ),
  chat(
    'max_tokens beyond the context',
    hello,
    { max_tokens: 32_000 },
    undefined,
    fitted(firstText(greeting)),
  ),
  chat(
    'max_tokens beyond the context, streamed',
    hello,
    { ...withUsage, max_tokens: 32_000 },
    undefined,
    {
      ...fitted(firstText(greeting)),
    },
  ),
  chat('a prompt beyond the context', 'word '.repeat(6000), {}, isRefused),
  chat('stop', count, { stop: ' 5' }, firstText('1 2 3 4')),
  chat('two stop strings', count, { stop: [' 9', ' 7'] }, firstText('1 2 3 4 5 6')),
  chat('stop in a stream', count, { ...withUsage, stop: [' 5'] }, firstText('1 2 3 4')),
  chat('two choices', hello, { n: 2, ...sampled }, (value) => value.choices?.length === 2),
  chat(
    'two choices in a stream',
    hello,
    { ...withUsage, n: 2, ...sampled },
    (value) => value.choices?.length === 2,
  ),
  chat('seed', 'Tell me a story.', { temperature: 1, seed: 42, max_tokens: 20 }),
  chat('logprobs', hello, { logprobs: true, top_logprobs: 3 }, (value) =>
    value.choices?.[0]?.tokens?.every(([, tops]: Json) => tops === 3),
  ),
  chat(
    'logprobs in a stream',
    hello,
    { ...withUsage, logprobs: true, top_logprobs: 1 },
    (value) => value.choices?.[0]?.tokens > 3,
  ),
  chat('prompt_logprobs', hello, { prompt_logprobs: 1 }, (value) => value.promptScores > 3),
  chat('logit_bias', hello, { logit_bias: { 20: -100 } }),
  chat('penalties', count, { frequency_penalty: 0.5, presence_penalty: 0.5 }),
  chat('repetition_penalty and top_k', count, { repetition_penalty: 1.2, top_k: 5 }),
  chat(
    'min_p and ignore_eos',
    hello,
    { min_p: 0.1, ignore_eos: true },
    (value) => value.usage[1] === 40,
  ),
  chat(
    'user and null fields',
    hello,
    { user: 'someone', stop: null, tools: null },
    firstText(greeting),
  ),
  chat('stream', hello, { stream: true }, firstText(greeting)),
  chat('stream with usage', hello, withUsage, (value) => value.usage?.[1] > 3),
  chat('stream with counts all along', hello, {
    stream: true,
    stream_options: { include_usage: true, continuous_usage_stats: true },
  }),
  chat(
    'stream_options without a stream',
    hello,
    { stream_options: { include_usage: true } },
    isRefused,
  ),
  chat(
    'json_object',
    'Describe Ada as JSON.',
    { response_format: { type: 'json_object' } },
    (value) => isPerson(value.choices[0].text),
  ),
  chat('json_schema', 'Describe Ada as JSON.', schema(person), (value) =>
    isPerson(value.choices[0].text),
  ),
  chat(
    'json_schema in a stream',
    'Describe Ada as JSON.',
    { ...withUsage, ...schema(person) },
    (value) => isPerson(value.choices[0].text),
  ),
  chat('an invalid schema', hello, schema(invalidSchema), isRefused),
  chat(
    'an invalid schema in a stream',
    hello,
    { stream: true, ...schema(invalidSchema) },
    isRefused,
  ),
  chat(
    'structured_outputs by choice',
    hello,
    { structured_outputs: { choice: ['yes', 'no'] } },
    (value) => ['yes', 'no'].includes(value.choices?.[0]?.text),
  ),
  chat(
    'structured_outputs by regex',
    hello,
    { structured_outputs: { regex: '[ab]{3}' } },
    (value) => /^[ab]{3}$/.test(value.choices?.[0]?.text),
  ),
  chat('tools that are not needed', hello, { tools }, firstText(greeting)),
  chat('a tool by its own choice', paris, { tools }, firstCall('get_weather', 'Paris')),
  chat('a tool in a stream', paris, { tools, ...withUsage }, firstCall('get_weather', 'Paris')),
  chat(
    'two tools at once',
    both,
    { tools, max_tokens: 120 },
    (value) => value.choices[0].calls.length === 2,
  ),
  chat(
    'two tools at once in a stream',
    both,
    { tools, max_tokens: 120, ...withUsage },
    (value) => value.choices[0].calls.length === 2,
  ),
  chat(
    'a tool that is required',
    paris,
    { tools, tool_choice: 'required', max_tokens: 120 },
    (value) => value.choices?.[0]?.calls.length > 0,
  ),
  chat(
    'a tool by its name',
    paris,
    {
      ...{ tools, max_tokens: 120 },
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
    },
    undefined,
    {
      ours: {
        holds: (value) =>
          value.choices[0].calls[0][0] === 'get_weather' &&
          value.choices[0].finish_reason === 'tool_calls',
        why: 'servers say stop after a named tool; clients wait for tool_calls',
      },
    },
  ),
  chat(
    'no tool allowed',
    paris,
    { tools, tool_choice: 'none' },
    (value) => value.choices[0].calls.length === 0,
  ),
  chat(
    'the result of a tool',
    [
      user(paris),
      {
        ...{ role: 'assistant', content: null },
        tool_calls: [
          {
            id: 'c1',
            type: 'function',
            function: { name: 'get_weather', arguments: '{"city": "Paris"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
    ],
    { tools },
    firstText('It is sunny in Paris.'),
  ),
  chat('a temperature that is no number', hello, { temperature: 'hot' }, isRefused),
  chat(
    'a role that nobody knows',
    [{ role: 'nobody', content: 'x' }],
    {},
    undefined,
    ruled('roles are checked'),
  ),
  chat('no messages', [], {}, undefined, ruled('messages must not be empty')),
  {
    ...chat('a model that is not there', hello, { model: 'nobody' }),
    read: refused,
    holds: ({ status }) => status === 404,
  },
]

const completionChecks: readonly Check[] = [
  completion('whole', prompt, {}),
  completion('stream', prompt, withUsage),
  completion('echo', prompt, { echo: true, max_tokens: 3 }),
  completion('echo and nothing more', prompt, { echo: true, max_tokens: 0 }, (value) =>
    value.choices?.[0]?.text.includes(hello),
  ),
  completion('echo with logprobs', prompt, { echo: true, logprobs: 1, max_tokens: 2 }),
  completion(
    'several prompts',
    [prompt, '<|user|>Who are you?<|end|><|assistant|>'],
    {},
    (value) => value.choices?.length === 2,
  ),
  completion('token ids', [20, 21, 22, 23], {}),
  completion(
    'lists of token ids',
    [
      [20, 21],
      [22, 23, 24],
    ],
    {},
    (value) => value.choices?.length === 2,
  ),
  completion('two choices', prompt, { n: 2, ...sampled }),
  completion('stop', '<|user|>Count to one hundred and twenty.<|end|><|assistant|>', {
    stop: [' 4'],
  }),
  completion(
    'logprobs',
    prompt,
    { logprobs: 2 },
    (value) => value.choices?.[0]?.tokens?.length > 2,
  ),
  {
    ...completion('max_tokens beyond the context', prompt, { max_tokens: 32_000 }),
    ...fitted((value) => value.choices?.[0]?.finish_reason === 'stop'),
  },
  {
    ...completion('max_tokens beyond the context, streamed', prompt, {
      max_tokens: 32_000,
      stream: true,
    }),
    ...fitted((value) => value.choices?.[0]?.finish_reason === 'stop'),
  },
  completion('a prompt beyond the context', 'word '.repeat(6000), {}, isRefused),
  completion('logprobs beyond the limit', prompt, { logprobs: 99 }, isRefused),
]

const messageChecks: readonly Check[] = [
  message('whole', hello, {}, blockText(greeting)),
  message('with system', hello, { system: 'Be brief.' }),
  message('stream', hello, { stream: true }, blockText(greeting)),
  message(
    'two turns',
    [user('Hello!'), { role: 'assistant', content: greeting }, user('Who are you?')],
    {},
  ),
  message('max_tokens', count, { max_tokens: 5 }, (value) => value.stop_reason === 'max_tokens'),
  message('stop_sequences', count, { stop_sequences: [' 5'] }, blockText('1 2 3 4')),
  message('Unicode in a stream', 'Answer in Unicode.', { stream: true }, (value) =>
    value.content?.[0]?.text.includes('世界'),
  ),
  message('a tool', paris, { tools: anthropicTools, max_tokens: 80 }, usesTool),
  message(
    'a tool in a stream',
    paris,
    { tools: anthropicTools, max_tokens: 80, stream: true },
    usesTool,
  ),
  message(
    'a tool by its name',
    paris,
    {
      ...{ tools: anthropicTools, max_tokens: 80 },
      tool_choice: { type: 'tool', name: 'get_weather' },
    },
    usesTool,
  ),
  message(
    'max_tokens beyond the context',
    hello,
    { max_tokens: 32_000 },
    undefined,
    fitted(blockText(greeting)),
  ),
  message(
    'max_tokens beyond the context, streamed',
    hello,
    { max_tokens: 32_000, stream: true },
    undefined,
    {
      ...fitted(blockText(greeting)),
    },
  ),
  ...[false, true].map((stream) =>
    message(
      `thinking without a reasoning parser${stream ? ', streamed' : ''}`,
      hello,
      {
        ...{ stream, max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1024 } },
      },
      undefined,
      {
        ours: {
          holds: blockText(greeting),
          why: 'where the server refuses late, it is asked by translation',
        },
      },
    ),
  ),
  message('without max_tokens', hello, { max_tokens: undefined }, isRefused),
  message('a prompt beyond the context', 'word '.repeat(6000), {}, isRefused),
  {
    ...message('count_tokens', hello, { max_tokens: undefined }, (value) => value > 3),
    ...{ path: '/v1/messages/count_tokens', read: tokenCount },
  },
  {
    ...message('count_tokens with tools', paris, { max_tokens: undefined, tools: anthropicTools }),
    ...{ path: '/v1/messages/count_tokens', read: tokenCount },
  },
]

const responseChecks: readonly Check[] = [
  respond('whole', hello, {}, output(greeting)),
  respond('stream', hello, { stream: true }, output(greeting)),
  respond('with instructions', hello, { instructions: 'Be brief.' }),
  respond('items as input', [user(hello)], {}, output(greeting)),
  respond(
    'max_output_tokens',
    count,
    { max_output_tokens: 16 },
    (value) => value.status === 'incomplete',
  ),
  respond(
    'a tool',
    paris,
    { tools: responseTools, max_output_tokens: 80 },
    (value) => value.output?.[0]?.[0] === 'get_weather',
  ),
  respond(
    'a tool in a stream',
    paris,
    { tools: responseTools, max_output_tokens: 80, stream: true },
    (value) => value.output?.[0]?.[0] === 'get_weather',
  ),
  respond(
    'json_schema',
    'Describe Ada as JSON.',
    {
      text: { format: { type: 'json_schema', name: 'person', schema: person } },
    },
    (value) => isPerson(value.output[0]),
  ),
  ...[false, true].map((stream) =>
    respond(
      `an invalid schema${stream ? ' in a stream' : ''}`,
      hello,
      {
        ...{ stream, text: { format: { type: 'json_schema', name: 'x', schema: invalidSchema } } },
      },
      isRefused,
    ),
  ),
  respond('max_output_tokens beyond the context', hello, { max_output_tokens: 32_000 }, undefined, {
    ...fitted(output(greeting)),
  }),
  respond('a prompt beyond the context', 'word '.repeat(6000), {}, isRefused),
  respond(
    'what would be stored',
    hello,
    { previous_response_id: 'resp_1' },
    undefined,
    ruled('nothing is kept between requests'),
  ),
]

const thinking = 'Think: what is two plus two?'
const reasoningChecks: readonly Check[] = [
  chat('reasoning', thinking, {}, (value) => value.choices[0].reasoning.includes('Two and two')),
  chat('reasoning in a stream', thinking, withUsage, (value) =>
    value.choices[0].reasoning.includes('Two and two'),
  ),
  message(
    'thinking',
    thinking,
    {
      ...{ max_tokens: 1100, thinking: { type: 'enabled', budget_tokens: 1024 } },
    },
    (value) => value.content?.[0]?.type === 'thinking',
  ),
  message(
    'thinking in a stream',
    thinking,
    {
      ...{ max_tokens: 1100, stream: true, thinking: { type: 'enabled', budget_tokens: 1024 } },
    },
    (value) => value.content?.[0]?.type === 'thinking',
  ),
  respond('reasoning', thinking, {}),
].map((check) => ({ ...check, variant: 'reasoning' as const }))

const embedding = (
  name: string,
  input: unknown,
  fields: Json = {},
  holds?: Check['holds'],
): Check => ({
  name: `embeddings: ${name}`,
  variant: 'embed',
  path: '/v1/embeddings',
  body: { model, input, ...fields },
  read: vectors,
  ...(holds && { holds }),
})
const embeddingChecks: readonly Check[] = [
  embedding('one text', hello, {}, (value) => value.vectors[0].length === 128),
  embedding('several texts', [hello, paris], {}, (value) => value.vectors.length === 2),
  embedding('token ids', [[20, 21, 22]]),
  embedding(
    'base64',
    hello,
    { encoding_format: 'base64' },
    (value) => typeof value.vectors[0] === 'string',
  ),
  embedding('a text beyond the context', 'word '.repeat(2000), {}, isRefused),
]

const seen = (name: string) => ({ type: 'image_url', image_url: { url: picture(name) } })
const source = (name: string) => ({
  ...{
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: pictureBase64(name) },
  },
})
const question = { type: 'text', text: 'What is this?' }
const saysSomething = (value: Json) => value.choices?.[0]?.text !== ''
const visionChecks: readonly Check[] = [
  chat('an image', [user([question, seen('one')])], {}, saysSomething),
  chat('an image in a stream', [user([question, seen('one')])], { stream: true }, saysSomething),
  chat('an image before the text', [user([seen('one'), question])], {}, saysSomething),
  chat(
    'an image under a name of its own',
    [user([question, { ...seen('one'), uuid: 'the-name-of-any-image' }])],
    {},
    undefined,
    ruled('the name could be that of an image of another caller'),
  ),
  chat(
    'an image that would have to be fetched',
    [user([question, { type: 'image_url', image_url: { url: 'http://127.0.0.1:9/a.png' } }])],
    {},
    undefined,
    ruled('nothing is fetched'),
  ),
  message('an image', [user([source('one'), question])], {}),
  message('an image in a stream', [user([source('one'), question])], { stream: true }),
  respond(
    'an image',
    [
      user([
        { type: 'input_image', image_url: picture('one') },
        { type: 'input_text', text: question.text },
      ]),
    ],
    {},
  ),
].map((check) => ({ ...check, variant: 'vision' as const }))

/** Salts as callers make them: vLLM refuses them from 0.30 on, and never gets them from us. */
const callersSalts = {
  'base64 with a slash': `${'a/'.repeat(21)}a=`,
  'a long one': 'x'.repeat(200),
}
const saltChecks: readonly Check[] = Object.entries(callersSalts).flatMap(([name, cache_salt]) =>
  [
    chat('', hello, { cache_salt }),
    completion('', prompt, { cache_salt }),
    message('', hello, { cache_salt }),
    respond('', hello, { cache_salt }),
  ].map((check) => ({
    ...check,
    name: `salts: ${name} at ${check.path}`,
    ours: {
      holds: (value: Json) => value.status === undefined || value.status === 'completed',
      why: 'the server gets a digest',
    },
  })),
)

export const checks: readonly Check[] = [
  { name: 'models: list', variant: 'chat', path: '/v1/models', body: undefined, read: modelNames },
  {
    name: 'models: one',
    variant: 'chat',
    path: `/v1/models/${model}`,
    body: undefined,
    read: modelNames,
    ours: { holds: ([id]) => id === model, why: 'servers need not have such a path' },
  },
  ...[...chatChecks, ...completionChecks, ...messageChecks, ...responseChecks],
  ...[...saltChecks, ...reasoningChecks, ...embeddingChecks, ...visionChecks],
]
