/** What callers ask of the embedded engine, and what passes between callers and servers of their own dialect. */
import { SseDecoder } from '@privatemode/protocol/api'
import { checkMessagesFields } from '../../packages/inference/src/dialects/messages/check-messages.ts'
import { messagesToChat } from '../../packages/inference/src/dialects/messages/messages-to-chat.ts'
import { passedMessage } from '../../packages/inference/src/dialects/messages/pass-message.ts'
import { PassedEvents as PassedMessage } from '../../packages/inference/src/dialects/messages/passed-answer.ts'
import { passedResponse } from '../../packages/inference/src/dialects/responses/pass-response.ts'
import { PassedEvents as PassedResponse } from '../../packages/inference/src/dialects/responses/passed-answer.ts'
import { responsesToChat } from '../../packages/inference/src/dialects/responses/responses-to-chat.ts'
import type { StreamWriter } from '../../packages/inference/src/dialects/stream-answer.ts'
import { UsageMeter } from '../../packages/inference/src/dialects/usage-meter.ts'
import type { JsonObject } from '../../packages/inference/src/engine.ts'
import { GrammarBuilder } from '../../packages/inference/src/llama/grammar/gbnf.ts'
import { addSchema } from '../../packages/inference/src/llama/grammar/json-schema-grammar.ts'
import { readMessages } from '../../packages/inference/src/llama/prompt/chat-messages.ts'
import { readToolChoice } from '../../packages/inference/src/llama/prompt/tool-choice.ts'
import { readSampling } from '../../packages/inference/src/llama/scheduling/sampling.ts'
import { message, messageEvents, model, response, responseEvents } from './samples.ts'
import { Disagreement, type FuzzTarget, json, parseOr, text } from './target.ts'

const schema = {
  type: 'object',
  properties: {
    'a"b': { type: ['string', 'null'], format: 'date', minLength: 1, maxLength: 9 },
    n: { type: 'integer', minimum: -5, exclusiveMaximum: 100 },
    list: { type: 'array', items: { enum: [1, 'x', null] }, minItems: 1, maxItems: 3 },
    code: { type: 'string', pattern: '^[A-Z]{2}-\\d+(a|b)?$' },
    tree: { $ref: '#/$defs/tree' },
  },
  required: ['n'],
  additionalProperties: false,
  $defs: { tree: { type: 'object', properties: { left: { $ref: '#/$defs/tree' } } } },
}
const united = { anyOf: [{ const: 1 }, { allOf: [{ type: 'number' }, { minimum: 2 }] }, true] }
const options = {
  ...{ temperature: 0.5, top_p: 0.9, top_k: 5, min_p: 0.1, seed: 7, n: 2, stop: ['x'] },
  ...{ frequency_penalty: 1, presence_penalty: -1, repetition_penalty: 1.1, logit_bias: { 1: 2 } },
  messages: [
    { role: 'system', content: 's' },
    { role: 'user', content: [{ type: 'text', text: 'u' }] },
    {
      role: 'assistant',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: 'r' },
  ],
  tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
  tool_choice: { type: 'function', function: { name: 'f' } },
}

/** Every name that a grammar uses is one that it defines: nothing of a schema becomes notation. */
function requireClosed(grammar: string): void {
  // In one pass: a class may contain a quotation mark, and a text a bracket.
  const bare = grammar.replace(/"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]/gs, ' ')
  const defined = new Set([...bare.matchAll(/^([\w-]+) ::=/gm)].map(([, name]) => name))
  for (const [name] of bare.matchAll(/[a-zA-Z][\w-]*/g))
    if (!defined.has(name)) throw new Disagreement('the grammar names a rule that it lacks')
  if (/[^\w\s()|*+?{},:=-]/.test(bare)) throw new Disagreement('the grammar has a stray character')
}

const asObject = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null ? (value as JsonObject) : {}

const exchangeOf = (body: JsonObject) => {
  const engine = { speaks: () => true }
  const parts = { engine, model, body, cacheSalt: 's', stream: true, meter: new UsageMeter() }
  return parts as unknown as Parameters<typeof passedResponse>[0]
}

/** Events through a writer to its good end; all that comes out is JSON. */
function pass(bytes: Uint8Array, writer: StreamWriter): void {
  const events: unknown = parseOr(bytes, [])
  let out = ''
  for (const event of Array.isArray(events) ? events : [])
    if (typeof event === 'object' && event !== null) out += writer.write(event as JsonObject)
  out += writer.end(true)
  for (const { data } of new SseDecoder().push(text(out))) JSON.parse(data)
}

const usage = () => new UsageMeter().read()

export const engineTargets: readonly FuzzTarget[] = [
  {
    name: 'schema of an answer',
    seeds: [json(schema), json(united)],
    read(bytes) {
      const builder = new GrammarBuilder()
      requireClosed(builder.format(addSchema(builder, parseOr(bytes, undefined), false)))
    },
  },
  {
    name: 'options for the embedded engine',
    seeds: [json(options)],
    read(bytes) {
      const body = asObject(parseOr(bytes, {}))
      readSampling(body, { defaults: {}, vocabularySize: 1000, contextLength: 100, prompt: [1] }, 2)
      readToolChoice(body)
      readMessages(body.messages)
    },
  },
  {
    name: 'message passed on',
    seeds: [json(message)],
    read(bytes) {
      const body = asObject(parseOr(bytes, {}))
      checkMessagesFields(body)
      passedMessage(exchangeOf(body), messagesToChat(structuredClone(body)))
    },
  },
  {
    name: 'response passed on',
    seeds: [json(response)],
    read(bytes) {
      const body = asObject(parseOr(bytes, {}))
      responsesToChat(structuredClone(body))
      passedResponse(exchangeOf(body))
    },
  },
  {
    name: 'events passed on as a message',
    seeds: [json(messageEvents)],
    read(bytes) {
      const context = { model: 'm', withThinking: false, stopSequences: [] }
      pass(bytes, new PassedMessage(context, usage, 'id'))
    },
  },
  {
    name: 'events passed on as a response',
    seeds: [json([{ type: 'response.created', response: {} }, ...responseEvents])],
    read(bytes) {
      const { kinds } = responsesToChat(structuredClone(response) as JsonObject)
      pass(bytes, new PassedResponse({ body: response as JsonObject, model: 'm', kinds }, usage))
    },
  },
]
