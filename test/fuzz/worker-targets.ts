/** Parsers and translators inside the worker: requests of every dialect, and what engines answer. */
import { SseDecoder } from '@privatemode/protocol/api'
import { MessagesStream } from '../../packages/inference/src/dialects/messages/chat-to-messages-stream.ts'
import {
  checkMaxTokens,
  checkMessagesFields,
} from '../../packages/inference/src/dialects/messages/check-messages.ts'
import { chatToMessage } from '../../packages/inference/src/dialects/messages/message-answer.ts'
import {
  messagesToChat,
  wantsThinking,
} from '../../packages/inference/src/dialects/messages/messages-to-chat.ts'
import { normalizeChat } from '../../packages/inference/src/dialects/openai/chat-answer.ts'
import { ChatChunks } from '../../packages/inference/src/dialects/openai/chat-chunks.ts'
import { checkChat } from '../../packages/inference/src/dialects/openai/check-chat.ts'
import { parseBody } from '../../packages/inference/src/dialects/parse-body.ts'
import {
  defaultTurnLimits,
  parseInTurns,
} from '../../packages/inference/src/dialects/parse-in-turns.ts'
import { ResponsesStream } from '../../packages/inference/src/dialects/responses/responses-stream.ts'
import { responsesToChat } from '../../packages/inference/src/dialects/responses/responses-to-chat.ts'
import type { StreamWriter } from '../../packages/inference/src/dialects/stream-answer.ts'
import { UsageMeter } from '../../packages/inference/src/dialects/usage-meter.ts'
import type { JsonObject } from '../../packages/inference/src/engine.ts'
import { renameFields } from '../../packages/inference/src/servers/rename-fields.ts'
import { toEngineError } from '../../packages/inference/src/servers/server-error.ts'
import { message, model, response } from './samples.ts'
import { Disagreement, type FuzzTarget, json, requireSame, text } from './target.ts'

const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } }
const chat = {
  model: 'm',
  messages: [
    { role: 'system', content: 's' },
    { role: 'user', content: [{ type: 'text', text: 't' }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: 'r' },
  ],
  tools: [tool],
  tool_choice: 'auto',
  max_tokens: 5,
  stop: ['x'],
  response_format: { type: 'json_object' },
}
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const call = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":' } }
const stream = text(
  chunk({ role: 'assistant', reasoning: 'hm' }) +
    chunk({ content: 'hel' }) +
    chunk({ content: 'lo' }) +
    chunk({ tool_calls: [call] }) +
    chunk({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }) +
    chunk({}, 'tool_calls') +
    `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } })}\n\n`,
)
const oddStream = text(
  `data: ${JSON.stringify({ choices: [null, 1, 'x', []] })}\n\n${chunk({ content: 1, tool_calls: [null] }, 'stop')}`,
)
const whole = {
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'hi', reasoning_content: 'hm', tool_calls: [call] },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 1 } },
}

/** An engine's stream, through one dialect's writer to its clean end. */
function translate(
  bytes: Uint8Array,
  writer: (chunks: ChatChunks, meter: UsageMeter) => StreamWriter,
) {
  const meter = new UsageMeter()
  const out = writer(new ChatChunks(meter, 'm', false), meter)
  let events = ''
  for (const { data } of new SseDecoder().push(bytes)) {
    const parsed = parseObject(data)
    if (parsed !== undefined) events += out.write(renameFields(parsed))
  }
  events += out.end(true)
  for (const { data } of new SseDecoder().push(text(events))) {
    if (parseObject(data) === undefined && data !== '[DONE]') {
      throw new Disagreement('an event of ours is not JSON')
    }
  }
}

function parseObject(data: string): JsonObject | undefined {
  try {
    const parsed: unknown = JSON.parse(data)
    return typeof parsed === 'object' && parsed !== null ? (parsed as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** So short that a sample is parsed in many turns. */
const shortTurns = {
  ...{ ...defaultTurnLimits, turnBytes: 9, turnValues: 3, shortBytes: 40, windowBytes: 8 },
}

export const workerTargets: readonly FuzzTarget[] = [
  {
    name: 'long body',
    seeds: [
      json(chat),
      json(message),
      text('{"a":[{"b":["\\ud83d\\ude00 and \\"more\\" text, longer than others"]}]}'),
    ],
    async read(bytes) {
      const parsed = await parseInTurns(bytes, false, async () => {}, shortTurns)
      const decoded = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
      requireSame('body', parsed, JSON.parse(decoded))
    },
  },
  {
    name: 'chat request',
    seeds: [json(chat)],
    read: (bytes) => checkChat(parseBody(bytes), model, false),
  },
  {
    name: 'messages request',
    seeds: [json(message)],
    read(bytes) {
      const body = parseBody(bytes)
      checkMaxTokens(body)
      checkMessagesFields(body)
      checkChat(messagesToChat(body), model, false)
      wantsThinking(body)
    },
  },
  {
    name: 'responses request',
    seeds: [json(response), json({ model: 'm', input: 'x' })],
    read: (bytes) => checkChat(responsesToChat(parseBody(bytes)).chat, model, false),
  },
  {
    name: 'engine stream to messages',
    seeds: [stream, oddStream],
    read: (bytes) =>
      translate(bytes, (chunks, meter) => {
        const context = { model: 'm', withThinking: true, stopSequences: ['x'] }
        return new MessagesStream(chunks, context, () => meter.read(), 'id')
      }),
  },
  {
    name: 'engine stream to responses',
    seeds: [stream, oddStream],
    read: (bytes) =>
      translate(bytes, (chunks, meter) => {
        const { kinds } = responsesToChat(structuredClone(response) as JsonObject)
        const context = { body: response as JsonObject, model: 'm', kinds }
        return new ResponsesStream(chunks, context, () => meter.read())
      }),
  },
  {
    name: 'engine answer',
    seeds: [json(whole), json({ choices: [null, 1, 'x', []] })],
    read(bytes) {
      const parsed = parseObject(new TextDecoder().decode(bytes))
      if (parsed === undefined || Array.isArray(parsed)) return
      const meter = new UsageMeter()
      const normal = normalizeChat(renameFields(parsed), 'm', meter, false)
      const context = { model: 'm', withThinking: true, stopSequences: [] }
      chatToMessage(normal, meter.read(), true, context)
    },
  },
  {
    name: 'engine error',
    seeds: [
      json({ error: { message: 'maximum context length "x" exceeded', code: 400, param: 'a' } }),
    ],
    read(bytes) {
      const parsed = parseObject(new TextDecoder().decode(bytes))
      toEngineError(400 + ((bytes[0] ?? 0) % 150), parsed, ['a'])
    },
  },
]
