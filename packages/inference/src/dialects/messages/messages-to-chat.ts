/** Translates a messages request into the chat request that engines understand. */
import type { JsonObject } from '../../engine.ts'
import { arrangeHistory } from '../chat-history.ts'
import { isObject, requireList, requireObject, requireText, wrongValue } from '../json-value.ts'
import { assistantMessage, userMessages } from './message-blocks.ts'
import { systemText } from './system-text.ts'
import { translateToolChoice, translateTools } from './translate-tools.ts'

/** Fields without effect on any path; some would make a server act for the caller. */
export const withoutEffect: ReadonlySet<string> = new Set([
  ...['metadata', 'service_tier', 'context_management', 'container', 'mcp_servers', 'betas'],
  ...['anthropic_beta', 'anthropic_version', 'cache_control', 'inference_geo', 'speed'],
])

/** Fields of this dialect that are consumed here; all others are passed to the engine unchanged. */
const consumed: ReadonlySet<string> = new Set([
  'system',
  'messages',
  'tools',
  'tool_choice',
  'stop_sequences',
  'thinking',
  'output_config',
  'output_format',
  ...withoutEffect,
  // Chat only: an answer of this dialect cannot represent them.
  'n',
  'stream_options',
  'logprobs',
  'top_logprobs',
  'prompt_logprobs',
])

export function messagesToChat(body: JsonObject): JsonObject {
  const chat: JsonObject = Object.fromEntries(
    Object.entries(body).filter(([name]) => !consumed.has(name)),
  )
  chat.messages = translateMessages(body)
  if (body.tools !== undefined && body.tools !== null)
    chat.tools = translateTools(requireList(body.tools, 'tools'))
  if (body.stop_sequences !== undefined) chat.stop = body.stop_sequences
  if (isObject(body.tool_choice)) Object.assign(chat, translateToolChoice(body.tool_choice))
  Object.assign(chat, translateThinking(body), translateOutput(body), continuation(chat.messages))
  return chat
}

function translateMessages(body: JsonObject): JsonObject[] {
  const messages = requireList(body.messages, 'messages')
  if (messages.length === 0)
    throw wrongValue('messages', 'a list with at least one message', messages)
  const chat: JsonObject[] = [{ role: 'system', content: systemText(body.system, 'system') }]
  messages.forEach((value, i) => {
    const at = `messages.${i}`
    const message = requireObject(value, at)
    switch (message.role) {
      case 'user':
        chat.push(...userMessages(message.content, `${at}.content`))
        break
      case 'assistant':
        chat.push(assistantMessage(message.content, `${at}.content`))
        break
      case 'system':
        chat.push({ role: 'system', content: systemText(message.content, `${at}.content`) })
        break
      default:
        throw wrongValue(`${at}.role`, 'one of user, assistant, system', message.role)
    }
  })
  return arrangeHistory(chat)
}

/** A template argument switches reasoning on; models without one ignore it. */
function translateThinking(body: JsonObject): JsonObject {
  if (!isObject(body.thinking)) return {}
  const { type } = body.thinking
  if (type !== 'enabled' && type !== 'disabled' && type !== 'adaptive')
    throw wrongValue('thinking.type', 'one of enabled, disabled, adaptive', type)
  const own = isObject(body.chat_template_kwargs) ? body.chat_template_kwargs : {}
  return { chat_template_kwargs: { enable_thinking: type !== 'disabled', ...own } }
}

/** Whether the caller asked to see reasoning; otherwise text comes first, as in the original API. */
export function wantsThinking(body: JsonObject): boolean {
  return isObject(body.thinking) && body.thinking.type !== 'disabled'
}

function translateOutput(body: JsonObject): JsonObject {
  const config = isObject(body.output_config) ? body.output_config : {}
  const format = config.format ?? body.output_format
  const chat: JsonObject = {}
  if (config.effort !== undefined && config.effort !== null)
    chat.reasoning_effort = requireText(config.effort, 'output_config.effort')
  if (!isObject(format)) return chat
  if (format.type !== 'json_schema')
    throw wrongValue('output_config.format.type', "'json_schema'", format.type)
  const schema = requireObject(format.schema, 'output_config.format.schema')
  chat.response_format = {
    type: 'json_schema',
    json_schema: { name: 'output', schema, strict: true },
  }
  return chat
}

/** If the last message is the assistant's, it is the start of the answer to continue. */
function continuation(messages: unknown): JsonObject {
  const last = Array.isArray(messages) ? messages.at(-1) : undefined
  const isBeginning = isObject(last) && last.role === 'assistant' && last.tool_calls === undefined
  return isBeginning ? { add_generation_prompt: false, continue_final_message: true } : {}
}
