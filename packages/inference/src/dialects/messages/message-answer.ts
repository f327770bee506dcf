/** A complete chat answer as a message object. */
import type { JsonObject } from '../../engine.ts'
import { isObject } from '../json-value.ts'
import { newId } from '../openai/new-id.ts'
import type { Usage } from '../usage-meter.ts'
import { stopReason } from './stop-reason.ts'

/** Clients send it back and require it; reasoning is not signed and nothing verifies it. */
export const unsignedSignature = 'cmVhc29uaW5nIGlzIG5vdCBzaWduZWQ='

export type MessageContext = {
  readonly model: string
  readonly withThinking: boolean
  readonly stopSequences: readonly unknown[]
}

export function chatToMessage(
  chat: JsonObject,
  usage: Usage,
  fitted: boolean,
  context: MessageContext,
): JsonObject {
  const choice = firstChoice(chat)
  const message: JsonObject = isObject(choice.message) ? choice.message : {}
  const content: JsonObject[] = []
  if (context.withThinking && typeof message.reasoning === 'string' && message.reasoning !== '')
    content.push({ type: 'thinking', thinking: message.reasoning, signature: unsignedSignature })
  // Models emit white space between reasoning and a tool call.
  if (typeof message.content === 'string' && message.content.trim() !== '')
    content.push({ type: 'text', text: message.content })
  if (Array.isArray(message.tool_calls)) content.push(...message.tool_calls.map(toolUse))
  return {
    id: newId('msg_'),
    type: 'message',
    role: 'assistant',
    model: context.model,
    content,
    ...stopReason(choice, fitted, context.stopSequences),
    usage: messageUsage(usage),
  }
}

/** Cached tokens are not reported here: input_tokens is the whole prompt. */
export function messageUsage(usage: Usage): JsonObject {
  return {
    input_tokens: usage.promptTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: usage.completionTokens,
  }
}

function firstChoice(chat: JsonObject): JsonObject {
  const choice = Array.isArray(chat.choices) ? chat.choices[0] : undefined
  return isObject(choice) ? choice : {}
}

function toolUse(call: JsonObject): JsonObject {
  const named: JsonObject = isObject(call.function) ? call.function : {}
  return { type: 'tool_use', id: call.id, name: named.name, input: parseInput(named.arguments) }
}

/** A model may write broken JSON; the caller then gets an empty input, or in a stream a broken one. */
function parseInput(given: unknown): unknown {
  if (isObject(given)) return given // some servers send the object itself
  try {
    const input: unknown = JSON.parse(String(given))
    return isObject(input) ? input : {}
  } catch {
    return {}
  }
}
