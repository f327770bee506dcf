/** Messages that a model server answers natively: which ones are passed on, and in what form. */
import type { JsonObject } from '../../engine.ts'
import type { Exchange } from '../api-request.ts'
import { isObject, lookUp } from '../json-value.ts'
import { withoutEffect } from './messages-to-chat.ts'
import { systemText } from './system-text.ts'

/**
 * Fields to which servers with this endpoint give the same meaning as the translation. A request
 * with any other is translated, so leaving a field out is always safe.
 */
const carried: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'system', 'max_tokens', 'stream', 'stop_sequences', 'temperature'],
  ...['top_p', 'top_k', 'tools', 'tool_choice', 'thinking', 'chat_template_kwargs', 'cache_salt'],
])

/**
 * Blocks and their allowed fields: servers look for media under additional keys. Images are
 * translated, since only in a chat they can have a name.
 */
const blockFields: Readonly<Record<string, readonly string[]>> = {
  text: ['text', 'citations'],
  tool_use: ['id', 'name', 'input'],
  tool_result: ['tool_use_id', 'content', 'is_error'],
  thinking: ['thinking', 'signature'],
  redacted_thinking: ['data'],
}
const toolFields: readonly string[] = ['name', 'description', 'input_schema', 'strict', 'type']

/**
 * The body for the server's native endpoint, or undefined if this request is translated: because
 * the server does not support messages, or because something in it would get lost or change its
 * meaning there. The translation `chat` has already been made and checked, so anything refused on
 * one path is refused on the other.
 */
export function passedMessage(
  { engine, model, body, cacheSalt, stream }: Exchange,
  chat: JsonObject,
): JsonObject | undefined {
  if (engine.speaks?.('messages', model.id) !== true || !isCarried(body)) return undefined
  const kept = Object.entries(body).filter(([name]) => !withoutEffect.has(name))
  const passed: JsonObject = Object.fromEntries(kept)
  const system = systemText(body.system, 'system')
  if (system === '') delete passed.system
  else passed.system = system
  if (chat.chat_template_kwargs !== undefined)
    passed.chat_template_kwargs = chat.chat_template_kwargs
  return { ...passed, model: model.id, cache_salt: cacheSalt, stream }
}

function isCarried(body: JsonObject): boolean {
  const isKnown = Object.keys(body).every((name) => carried.has(name) || withoutEffect.has(name))
  const messages = Array.isArray(body.messages) ? body.messages : []
  const tools = Array.isArray(body.tools) ? body.tools : []
  const choice = isObject(body.tool_choice) ? body.tool_choice : {}
  return (
    isKnown &&
    messages.every(isCarriedMessage) &&
    // A trailing assistant message is to be continued, which each server does differently.
    messages.at(-1)?.role === 'user' &&
    tools.every((tool) => isObject(tool) && hasOnly(tool, toolFields)) &&
    choice.disable_parallel_tool_use !== true
  )
}

/** Only the translation keeps a system message in the middle in place. */
function isCarriedMessage(message: unknown): boolean {
  if (!isObject(message) || !hasOnly(message, ['role', 'content'])) return false
  if (message.role !== 'user' && message.role !== 'assistant') return false
  return isCarriedContent(message.content)
}

function isCarriedContent(content: unknown): boolean {
  if (content === undefined || typeof content === 'string') return true
  return Array.isArray(content) && content.every(isCarriedBlock)
}

function isCarriedBlock(block: unknown): boolean {
  if (!isObject(block)) return false
  const fields = lookUp(blockFields, block.type)
  if (fields === undefined || !hasOnly(block, ['type', ...fields])) return false
  return (
    block.type !== 'tool_result' || (block.is_error !== true && isCarriedContent(block.content))
  )
}

function hasOnly(object: JsonObject, fields: readonly string[]): boolean {
  return Object.keys(object).every((name) => fields.includes(name) || name === 'cache_control')
}
