/**
 * Names for images. vLLM keeps processed and encoded images under a digest of their content, or under
 * a `uuid` that the request gives them, for all callers alike: with a name that depends on the salt,
 * no caller can tell from the time of an answer what others have sent.
 */
import { createHash } from 'node:crypto'
import type { JsonObject } from '../engine.ts'

const label = 'privatemode/v1/image-name\0'

/** Of a body whose salt is the server's own. */
export function withNamedImages(body: JsonObject): JsonObject {
  const { messages, cache_salt: salt } = body
  if (!Array.isArray(messages) || !messages.some(hasImages)) return body
  return { ...body, messages: messages.map((message) => nameImages(message, String(salt))) }
}

function hasImages({ content }: JsonObject): boolean {
  return Array.isArray(content) && content.some(isImage)
}

const isImage = (part: JsonObject): boolean => part.type === 'image_url'

function nameImages(message: JsonObject, salt: string): JsonObject {
  if (!hasImages(message)) return message
  const parts = message.content as readonly JsonObject[]
  const named = (part: JsonObject) => ({ ...part, uuid: nameOf(part.image_url, salt) })
  return { ...message, content: parts.map((part) => (isImage(part) ? named(part) : part)) }
}

/** With all that the image comes with: the server may process it differently. */
function nameOf(image: unknown, salt: string): string {
  return createHash('sha256')
    .update(label)
    .update(`${salt}\0`)
    .update(JSON.stringify(image))
    .digest('hex')
}
