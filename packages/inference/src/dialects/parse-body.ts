/** Parses the bytes of a request as one JSON object, or refuses with the position of the error. */
import { ApiError, findRoute, scanBody } from '@privatemode/protocol/api'
import type { Engine, JsonObject } from '../engine.ts'
import { hideUnknown } from './engine-failure.ts'
import { defaultTurnLimits, parseInTurns } from './parse-in-turns.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A body that was parsed before it is answered, or why it could not be. */
export type ParsedBody =
  | { readonly json: JsonObject; readonly error?: undefined }
  | { readonly json?: undefined; readonly error: ApiError }

/**
 * Parses a long body in turns with other requests; returns undefined for a short one, which `answer`
 * parses at once.
 */
export function parseLong(
  path: string,
  bytes: Uint8Array,
  engine: Pick<Engine, 'takesLongTexts'>,
  giveTurn: () => Promise<void>,
): Promise<ParsedBody> | undefined {
  if (bytes.length <= defaultTurnLimits.shortBytes) return undefined
  const found = findRoute('POST', path.split('?', 1)[0] ?? '')
  const isChat = found.kind === 'found' && found.route.endpoint === 'chat'
  return parseInTurns(bytes, isChat && engine.takesLongTexts === true, giveTurn).then(
    (json) => ({ json }),
    (error: unknown) => ({ error: hideUnknown(error) }),
  )
}

/** The scan refuses what a parser would accept: duplicate keys, and unlimited depth. */
export function parseBody(bytes: Uint8Array): JsonObject {
  scanBody(bytes)
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
