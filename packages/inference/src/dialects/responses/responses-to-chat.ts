/** Translates a responses request into the chat request that engines understand. */
import type { JsonObject } from '../../engine.ts'
import { arrangeHistory } from '../chat-history.ts'
import { applyRules, flag, object, positiveInteger, type Rules, text } from '../field-rules.ts'
import {
  isObject,
  requireList,
  requireObject,
  requireText,
  unsupported,
  wrongValue,
} from '../json-value.ts'
import { inputMessages } from './input-items.ts'
import { type ToolKinds, translateTools } from './response-tools.ts'

const responseRules: Rules = {
  max_output_tokens: positiveInteger,
  instructions: text,
  reasoning: object,
  text: object,
  store: flag,
  background: flag,
}

/** Fields without effect on any path; anything a server would store is refused before. */
export const withoutEffect: ReadonlySet<string> = new Set([
  ...['metadata', 'client_metadata', 'service_tier', 'prompt_cache_key', 'prompt_cache_retention'],
  ...['safety_identifier', 'context_management', 'background', 'stream_options', 'truncation'],
  ...['max_tool_calls', 'include', 'previous_response_id', 'conversation', 'prompt'],
])

/** Fields of this dialect that are consumed here; all others are passed to the engine unchanged. */
const consumed: ReadonlySet<string> = new Set([
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'text',
  'reasoning',
  'max_output_tokens',
  'store',
  ...withoutEffect,
  // Chat only: an answer of this dialect cannot represent them.
  'n',
  'logprobs',
  'top_logprobs',
  'prompt_logprobs',
])

/** These would need state between requests; this worker keeps none. */
const stateful: readonly string[] = ['previous_response_id', 'conversation', 'prompt']

export function responsesToChat(body: JsonObject): { chat: JsonObject; kinds: ToolKinds } {
  applyRules(body, responseRules)
  for (const name of stateful)
    if (body[name] !== undefined && body[name] !== null)
      throw unsupported(name, `'${name}' is not supported: nothing is kept between requests`)
  if (body.background === true)
    throw unsupported('background', "'background' is not supported: nothing is kept")
  const chat: JsonObject = Object.fromEntries(
    Object.entries(body).filter(([name]) => !consumed.has(name)),
  )
  chat.messages = arrangeHistory([
    { role: 'system', content: body.instructions ?? '' },
    ...inputMessages(body.input),
  ])
  const { tools, kinds } = translateTools(requireList(body.tools ?? [], 'tools'))
  if (tools.length > 0) {
    chat.tools = allowedTools(tools, body.tool_choice)
    chat.tool_choice = translateToolChoice(body.tool_choice)
  }
  if (body.max_output_tokens !== undefined) chat.max_tokens = body.max_output_tokens
  Object.assign(chat, translateFormat(body.text), translateReasoning(body.reasoning))
  return { chat, kinds }
}

function translateToolChoice(choice: unknown): unknown {
  if (choice === undefined || choice === null) return 'auto'
  if (choice === 'none' || choice === 'auto' || choice === 'required') return choice
  if (!isObject(choice)) throw wrongValue('tool_choice', 'none, auto, required or a tool', choice)
  if (choice.type === 'function' || choice.type === 'custom')
    return { type: 'function', function: { name: choice.name } }
  if (choice.type === 'allowed_tools') return choice.mode === 'required' ? 'required' : 'auto'
  throw wrongValue('tool_choice.type', 'one of function, custom, allowed_tools', choice.type)
}

/** The functions that `allowed_tools` lists; all of them without it. */
function allowedTools(tools: readonly JsonObject[], choice: unknown): readonly JsonObject[] {
  if (!isObject(choice) || choice.type !== 'allowed_tools') return tools
  const param = 'tool_choice.tools'
  const listed = requireList(choice.tools, param).map((value, i) => {
    const { type, name } = requireObject(value, `${param}.${i}`)
    return type === 'local_shell' ? type : name
  })
  const allowed = tools.filter(
    (tool) => isObject(tool.function) && listed.includes(tool.function.name),
  )
  if (allowed.length === 0)
    throw wrongValue(param, "a list with some of the names in 'tools'", listed)
  return allowed
}

function translateFormat(value: unknown): JsonObject {
  const format = isObject(value) ? value.format : undefined
  if (!isObject(format)) return {}
  if (format.type !== 'json_schema') return { response_format: { type: format.type } }
  const { type, ...named } = format
  return { response_format: { type, json_schema: named } }
}

function translateReasoning(value: unknown): JsonObject {
  if (!isObject(value) || value.effort === undefined || value.effort === null) return {}
  return { reasoning_effort: requireText(value.effort, 'reasoning.effort') }
}
