/** Converts the messages of a request to the form that chat templates expect. */
import { EngineError, type JsonObject } from '../../engine.ts'

export type TemplateCall = {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: unknown }
}

export type TemplateMessage = {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
  readonly tool_calls?: readonly TemplateCall[]
  readonly tool_call_id?: string
  readonly name?: string
  readonly reasoning_content?: string
}

export function readMessages(messages: unknown): TemplateMessage[] {
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalid('messages must be a list with at least one message', 'messages')
  const callNames = new Map<string, string>()
  return messages.map((message: unknown, at) => {
    const read = readMessage(message, `messages[${at}]`, callNames)
    for (const call of read.tool_calls ?? []) callNames.set(call.id, call.function.name)
    return read
  })
}

function readMessage(
  message: unknown,
  param: string,
  callNames: ReadonlyMap<string, string>,
): TemplateMessage {
  if (!isObject(message)) throw invalid('a message must be an object', param)
  const content = readContent(message.content, `${param}.content`)
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', content }
    case 'user':
      return { role: 'user', content }
    case 'assistant':
      return readAssistant(message, content, param)
    case 'tool':
    case 'function': {
      const id = typeof message.tool_call_id === 'string' ? message.tool_call_id : ''
      const name = typeof message.name === 'string' ? message.name : callNames.get(id)
      return { role: 'tool', content, tool_call_id: id, ...(name === undefined ? {} : { name }) }
    }
    default:
      throw invalid('role must be system, developer, user, assistant or tool', `${param}.role`)
  }
}

function readAssistant(message: JsonObject, content: string, param: string): TemplateMessage {
  const reasoning = message.reasoning_content ?? message.reasoning
  const calls = message.tool_calls ?? []
  if (!Array.isArray(calls)) throw invalid('tool_calls must be a list', `${param}.tool_calls`)
  const read = calls.map((call: unknown, at) => readCall(call, `${param}.tool_calls[${at}]`))
  return {
    role: 'assistant',
    content,
    ...(read.length > 0 ? { tool_calls: read } : {}),
    ...(typeof reasoning === 'string' ? { reasoning_content: reasoning } : {}),
  }
}

function readCall(call: unknown, param: string): TemplateCall {
  const named = isObject(call) ? call.function : undefined
  if (!isObject(call) || !isObject(named) || typeof named.name !== 'string')
    throw invalid('a tool call must have a function with a name', param)
  const id = typeof call.id === 'string' ? call.id : ''
  return {
    id,
    type: 'function',
    function: { name: named.name, arguments: parsed(named.arguments) },
  }
}

const maxDepth = 128

/** Templates expect arguments as values; text that is not JSON, or nested too deeply for them, stays text. */
function parsed(text: unknown): unknown {
  if (typeof text !== 'string') return text ?? {}
  if (isDeep(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Brackets inside strings count, too, which no real call notices. */
function isDeep(text: string): boolean {
  let depth = 0
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1
    if (depth > maxDepth) return true
  }
  return false
}

/** Text as a string, as parts, or none; this engine has no models for other media. */
function readContent(content: unknown, param: string): string {
  if (typeof content === 'string') return content
  if (content === null || content === undefined) return ''
  if (!Array.isArray(content)) throw invalid('content must be a string or a list of parts', param)
  const texts = content.map((part: unknown, at) => {
    if (typeof part === 'string') return part
    if (isObject(part)) {
      if (typeof part.text === 'string') return part.text
      if (typeof part.refusal === 'string') return part.refusal
      if (part.type !== 'text')
        throw new EngineError('unsupported_value', 'this model accepts text only', {
          param: `${param}[${at}]`,
        })
    }
    throw invalid('a content part must have a text', `${param}[${at}]`)
  })
  return texts.join('\n')
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const invalid = (message: string, param: string): EngineError =>
  new EngineError('invalid_value', message, { param })
