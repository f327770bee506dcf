/** Responses that a model server answers natively: which ones are passed on, and in what form. */
import type { JsonObject } from '../../engine.ts'
import type { Exchange } from '../api-request.ts'
import { isObject, lookUp } from '../json-value.ts'
import { withoutEffect } from './responses-to-chat.ts'

/**
 * Fields to which servers with this endpoint give the same meaning as the translation. A request
 * with any other is translated, so leaving a field out is always safe.
 */
const carried: ReadonlySet<string> = new Set([
  ...['model', 'input', 'instructions', 'max_output_tokens', 'temperature', 'top_p'],
  ...[
    'top_k',
    'frequency_penalty',
    'presence_penalty',
    'tools',
    'tool_choice',
    'text',
    'reasoning',
  ],
  ...['parallel_tool_calls', 'chat_template_kwargs', 'user', 'stream', 'store', 'cache_salt'],
])

/**
 * Items and their allowed fields: servers look for media under additional keys. Images are
 * translated, since only in a chat they can have a name.
 */
const itemFields: Readonly<Record<string, readonly string[]>> = {
  message: ['id', 'role', 'content', 'status', 'phase'],
  function_call: ['id', 'call_id', 'name', 'arguments', 'status'],
  function_call_output: ['id', 'call_id', 'output', 'status'],
}
const partFields: Readonly<Record<string, readonly string[]>> = {
  input_text: ['text'],
  output_text: ['text', 'annotations', 'logprobs'],
}
const toolFields: readonly string[] = ['type', 'name', 'description', 'parameters', 'strict']

/**
 * The body for the server's native endpoint, or undefined if this request is translated: because
 * the server does not support responses, or because something in it would get lost or change its
 * meaning there. The translation has already been made and checked, so anything refused on one path
 * is refused on the other. Tools that a server would run are never passed on.
 */
export function passedResponse(exchange: Exchange): JsonObject | undefined {
  const { engine, model, body, cacheSalt, stream } = exchange
  if (engine.speaks?.('responses', model.id) !== true || !isCarried(body)) return undefined
  const kept = Object.entries(body).filter(([name]) => !withoutEffect.has(name))
  const decided = { model: model.id, cache_salt: cacheSalt, stream, store: false }
  return { ...Object.fromEntries(kept), ...decided }
}

function isCarried(body: JsonObject): boolean {
  const { input, tools = [], include, truncation, tool_choice: choice } = body
  const isKnown = Object.keys(body).every((name) => carried.has(name) || withoutEffect.has(name))
  const isChoice = typeof choice === 'string' || (isObject(choice) && choice.type === 'function')
  return (
    isKnown &&
    (typeof input === 'string' || isCarriedInput(input)) &&
    Array.isArray(tools) &&
    tools.every(isCarriedTool) &&
    (choice === undefined || isChoice) &&
    body.parallel_tool_calls !== false &&
    (truncation === undefined || truncation === 'disabled') &&
    // Only the translation can add requested extras such as sealed reasoning.
    (include === undefined || (Array.isArray(include) && include.length === 0))
  )
}

function isCarriedTool(tool: unknown): boolean {
  return isObject(tool) && tool.type === 'function' && hasOnly(tool, toolFields)
}

/** Servers continue a trailing assistant message, which the translation does not do. */
function isCarriedInput(input: unknown): boolean {
  if (!Array.isArray(input) || !input.every(isCarriedItem)) return false
  return input.at(-1)?.role !== 'assistant'
}

function isCarriedItem(item: unknown): boolean {
  if (!isObject(item)) return false
  const fields = lookUp(itemFields, item.type ?? 'message')
  if (fields === undefined || !hasOnly(item, ['type', ...fields])) return false
  const isPlain = item.output === undefined || typeof item.output === 'string'
  return isPlain && isCarriedContent(item.content)
}

function isCarriedContent(content: unknown): boolean {
  if (content === undefined || typeof content === 'string') return true
  return (
    Array.isArray(content) &&
    content.every((part) => {
      const fields = isObject(part) ? lookUp(partFields, part.type) : undefined
      return fields !== undefined && hasOnly(part, ['type', ...fields])
    })
  )
}

function hasOnly(object: JsonObject, fields: readonly string[]): boolean {
  return Object.keys(object).every((name) => fields.includes(name))
}
