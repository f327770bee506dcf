/** Arranges translated messages so that every chat template takes them. */
import type { JsonObject } from '../engine.ts'

/**
 * Many templates take one system message, at the start, and some demand that roles alternate.
 * System messages at the start become one. A later one keeps its place as words of the user:
 * moved to the front it would change the prefix that is cached. Users in a row become one.
 */
export function arrangeHistory(messages: readonly JsonObject[]): JsonObject[] {
  const firstOther = messages.findIndex((message) => message.role !== 'system')
  const leading = firstOther < 0 ? messages : messages.slice(0, firstOther)
  const system = leading.map((message) => message.content).filter((text) => text !== '')
  const arranged: JsonObject[] = []
  if (system.length > 0) arranged.push({ role: 'system', content: system.join('\n\n') })
  for (const message of messages.slice(leading.length)) {
    if (message.role === 'system' && message.content === '') continue
    const role = message.role === 'system' ? 'user' : message.role
    const last = arranged.at(-1)
    if (role === 'user' && last?.role === 'user') addContent(last, message.content)
    else arranged.push({ ...message, role })
  }
  return arranged
}

/** Adds to the parts that are there: copies would take time by the square of the messages. */
function addContent(message: JsonObject, added: unknown): void {
  const { content } = message
  if (typeof content === 'string' && typeof added === 'string') {
    message.content = `${content}\n\n${added}`
    return
  }
  const parts = asParts(content)
  for (const part of asParts(added)) parts.push(part)
  message.content = parts
}

/** Lists were made by the translation, so they are ours to add to. */
function asParts(content: unknown): unknown[] {
  return Array.isArray(content) ? content : [{ type: 'text', text: content }]
}

/** Servers without vision may know strings only, so text alone is sent as one. */
export function plainIfText(parts: readonly JsonObject[]): unknown {
  const isText = parts.every((part) => part.type === 'text')
  return isText ? parts.map((part) => part.text).join('\n\n') : parts
}
