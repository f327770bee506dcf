/** Content blocks of a messages request as chat messages. */
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

/** Tool results become separate messages, which must come first; the rest follows them. */
export function userMessages(content: unknown, at: string): JsonObject[] {
  if (typeof content === 'string') return [{ role: 'user', content }]
  const results: JsonObject[] = []
  const parts: JsonObject[] = []
  requireList(content, at).forEach((value, i) => {
    const block = requireObject(value, `${at}.${i}`)
    if (block.type !== 'tool_result') parts.push(userPart(block, `${at}.${i}`))
    else {
      const { message, images } = toolResult(block, `${at}.${i}`)
      results.push(message)
      parts.push(...images)
    }
  })
  if (parts.length === 0) return results
  return [...results, { role: 'user', content: plainIfText(parts) }]
}

export function assistantMessage(content: unknown, at: string): JsonObject {
  if (typeof content === 'string') return { role: 'assistant', content }
  let text = ''
  let reasoning = ''
  const calls: JsonObject[] = []
  requireList(content, at).forEach((value, i) => {
    const block = requireObject(value, `${at}.${i}`)
    switch (block.type) {
      case 'text':
        text += requireText(block.text, `${at}.${i}.text`)
        break
      case 'thinking':
        reasoning += requireText(block.thinking, `${at}.${i}.thinking`)
        break
      case 'redacted_thinking':
        break // created elsewhere and unreadable here
      case 'tool_use':
        calls.push(toolCall(block, `${at}.${i}`))
        break
      default:
        throw wrongValue(
          `${at}.${i}.type`,
          'text, thinking, redacted_thinking or tool_use',
          block.type,
        )
    }
  })
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(reasoning === '' ? {} : { reasoning, reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

function toolCall(block: JsonObject, at: string): JsonObject {
  const id = requireName(block.id, `${at}.id`)
  const name = requireName(block.name, `${at}.name`)
  const input = requireObject(block.input ?? {}, `${at}.input`)
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } }
}

function userPart(block: JsonObject, at: string): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: requireText(block.text, `${at}.text`) }
    case 'image':
      return imagePart(block, at)
    case 'document':
      return { type: 'text', text: documentText(block, at) }
  }
  throw wrongValue(`${at}.type`, 'text, image, document or tool_result', block.type)
}

/** Chat templates do not support images in tool messages; they are added right after. */
function toolResult(block: JsonObject, at: string): { message: JsonObject; images: JsonObject[] } {
  const id = requireName(block.tool_use_id, `${at}.tool_use_id`)
  const content = block.content ?? ''
  const list = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const texts: string[] = []
  const images: JsonObject[] = []
  requireList(list, `${at}.content`).forEach((value, i) => {
    const part = requireObject(value, `${at}.content.${i}`)
    if (part.type === 'tool_reference') texts.push(`tool: ${requireName(part.tool_name, at)}`)
    else if (part.type !== 'image') texts.push(String(userPart(part, `${at}.content.${i}`).text))
    else {
      images.push(imagePart(part, `${at}.content.${i}`))
      texts.push(`[image ${images.length} follows]`)
    }
  })
  const text = texts.join('\n')
  const message = {
    role: 'tool',
    tool_call_id: id,
    content: block.is_error === true ? `error: ${text}` : text,
  }
  return { message, images }
}

function imagePart(block: JsonObject, at: string): JsonObject {
  const source = requireObject(block.source, `${at}.source`)
  if (source.type !== 'base64')
    throw unsupported(
      `${at}.source.type`,
      'images must be given as base64: workers do not fetch URLs',
    )
  const mediaType = requireText(source.media_type, `${at}.source.media_type`)
  const data = requireText(source.data, `${at}.source.data`)
  return { type: 'image_url', image_url: { url: `data:${mediaType};base64,${data}` } }
}

function documentText(block: JsonObject, at: string): string {
  const source = requireObject(block.source, `${at}.source`)
  const title = typeof block.title === 'string' ? `${block.title}\n\n` : ''
  if (source.type === 'text') return title + requireText(source.data, `${at}.source.data`)
  if (source.type === 'content' && typeof source.content === 'string') return title + source.content
  if (source.type === 'content' && Array.isArray(source.content) && source.content.every(isText))
    return title + source.content.map((part) => part.text).join('\n')
  throw unsupported(`${at}.source.type`, 'documents must be given as text')
}

function isText(part: unknown): part is { text: string } {
  return isObject(part) && part.type === 'text' && typeof part.text === 'string'
}
