/** Input items of a responses request as chat messages. */
import type { JsonObject } from '../../engine.ts'
import { plainIfText } from '../chat-history.ts'
import {
  isObject,
  requireList,
  requireName,
  requireObject,
  requireText,
  unsupported,
  wrongValue,
} from '../json-value.ts'
import { customArguments } from './response-tools.ts'
import { openReasoning } from './sealed-reasoning.ts'

export function inputMessages(input: unknown): JsonObject[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  const items = requireList(input, 'input')
  if (items.length === 0) throw wrongValue('input', 'a string or a list of items', items)
  const messages: JsonObject[] = []
  items.forEach((value, i) => {
    addItem(messages, requireObject(value, `input.${i}`), `input.${i}`)
  })
  return messages
}

function addItem(messages: JsonObject[], item: JsonObject, at: string): void {
  switch (item.type ?? 'message') {
    case 'message':
      addMessage(messages, item, at)
      break
    case 'reasoning':
      addReasoning(messages, item)
      break
    case 'function_call':
      addCall(messages, item, requireText(item.arguments, `${at}.arguments`), at)
      break
    case 'custom_tool_call':
      addCall(messages, item, customArguments(requireText(item.input, `${at}.input`)), at)
      break
    case 'local_shell_call': {
      const named = { ...item, name: 'local_shell' }
      addCall(messages, named, JSON.stringify(item.action ?? {}), at)
      break
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'local_shell_call_output':
      addOutput(messages, item, at)
      break
    case 'item_reference':
      throw unsupported(`${at}.type`, 'items are not kept and cannot be referred to')
    default: {
      const known = 'message, reasoning, or the call or output of a function, custom tool or shell'
      throw wrongValue(`${at}.type`, known, item.type)
    }
  }
}

function addMessage(messages: JsonObject[], item: JsonObject, at: string): void {
  const content = translateContent(item.content, `${at}.content`)
  switch (item.role) {
    case 'user':
      messages.push({ role: 'user', content })
      return
    case 'system':
    case 'developer':
      if (typeof content !== 'string') throw unsupported(at, 'system messages are text')
      messages.push({ role: 'system', content })
      return
    case 'assistant': {
      const last = openAssistant(messages)
      last.content = typeof last.content === 'string' ? `${last.content}${content}` : content
      return
    }
  }
  throw wrongValue(`${at}.role`, 'one of user, assistant, system, developer', item.role)
}

/** Reasoning, text and calls of one turn are separate items here, but one message in a chat. */
function openAssistant(messages: JsonObject[]): JsonObject {
  const last = messages.at(-1)
  if (last?.role === 'assistant') return last
  const fresh: JsonObject = { role: 'assistant', content: null }
  messages.push(fresh)
  return fresh
}

function addReasoning(messages: JsonObject[], item: JsonObject): void {
  const parts = Array.isArray(item.content) ? item.content.filter(isObject) : []
  const given = parts.map((part) => part.text).filter((text) => typeof text === 'string')
  const reasoning = given.length > 0 ? given.join('') : openReasoning(item.encrypted_content)
  if (reasoning === undefined) return // created elsewhere and unreadable here
  const message = openAssistant(messages)
  message.reasoning = reasoning
  message.reasoning_content = reasoning
}

function addCall(messages: JsonObject[], item: JsonObject, text: string, at: string): void {
  const id = requireName(item.call_id, `${at}.call_id`)
  const name = requireName(item.name, `${at}.name`)
  const message = openAssistant(messages)
  const call = { id, type: 'function', function: { name, arguments: text } }
  // In place: a copy for each call would take quadratic time.
  if (Array.isArray(message.tool_calls)) message.tool_calls.push(call)
  else message.tool_calls = [call]
}

function addOutput(messages: JsonObject[], item: JsonObject, at: string): void {
  const id = requireName(item.call_id ?? item.id, `${at}.call_id`)
  const content = translateContent(item.output, `${at}.output`)
  const parts = Array.isArray(content) ? content.filter(isObject) : []
  const texts = parts.filter((part) => part.type === 'text').map((part) => part.text)
  const plain = typeof content === 'string' ? content : texts.join('\n')
  messages.push({ role: 'tool', tool_call_id: id, content: plain })
  // Chat templates do not support images in tool messages; they are added right after.
  const images = parts.filter((part) => part.type !== 'text')
  if (images.length > 0) messages.push({ role: 'user', content: images })
}

function translateContent(content: unknown, at: string): unknown {
  if (typeof content === 'string') return content
  const parts = requireList(content, at).map((value, i) => {
    const part = requireObject(value, `${at}.${i}`)
    switch (part.type) {
      case 'input_text':
      case 'output_text':
      case 'text':
        return { type: 'text', text: requireText(part.text, `${at}.${i}.text`) }
      case 'refusal':
        return { type: 'text', text: requireText(part.refusal, `${at}.${i}.refusal`) }
      case 'input_image':
        return { type: 'image_url', image_url: { url: part.image_url } }
    }
    throw wrongValue(
      `${at}.${i}.type`,
      'input_text, output_text, refusal or input_image',
      part.type,
    )
  })
  return plainIfText(parts)
}
