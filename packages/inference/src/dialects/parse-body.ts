/** Parses the bytes of a request as one JSON object, or refuses with the position of the error. */
import { ApiError, scanBody } from '@privatemode/protocol/api'
import type { JsonObject } from '../engine.ts'
import { parseLongTexts } from '../long-text.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The scan refuses what a parser would accept: duplicate keys, and unlimited depth. Long contents
 * may become a `LongText` if `takesLongTexts`.
 */
export function parseBody(bytes: Uint8Array, takesLongTexts = false): JsonObject {
  scanBody(bytes)
  const parsed = takesLongTexts ? parseLongTexts(bytes) : undefined
  if (parsed !== undefined) return parsed
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new ApiError('invalid_json', 'body is not valid UTF-8')
  }
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message quotes the body.
    throw new ApiError('invalid_json', 'body is not valid JSON: a nested value is malformed')
  }
}
