/** Arranges translated messages so that every chat template accepts them. */
import type { JsonObject } from '../engine.ts'

/**
 * Many templates accept a single system message, at the start, and some require alternating roles.
 * System messages at the start are merged. A later one stays in place as a user message: moving it
 * to the front would change the cached prefix. Consecutive user messages are merged.
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

/** Appends in place: copying would take time quadratic in the number of messages. */
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

/** The translation created these lists, so they may be modified. */
function asParts(content: unknown): unknown[] {
  return Array.isArray(content) ? content : [{ type: 'text', text: content }]
}

/** Servers without vision may only know strings, so plain text is sent as one. */
export function plainIfText(parts: readonly JsonObject[]): unknown {
  const isText = parts.every((part) => part.type === 'text')
  return isText ? parts.map((part) => part.text).join('\n\n') : parts
}
