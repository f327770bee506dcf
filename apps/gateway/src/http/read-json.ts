/** Reads the small JSON body of a control request. */
import { ApiError } from '@privatemode/protocol/api'
import { readBody, ServiceError } from '@privatemode/service'

export async function readJson(request: Request, limitBytes: number): Promise<unknown> {
  let bytes: Uint8Array
  try {
    bytes = await readBody(request, limitBytes)
  } catch (cause) {
    throw explainBodyError(cause)
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    // The parser's message quotes the body, so it is dropped.
    throw new ApiError('invalid_json', 'the request body is not valid JSON')
  }
}

/** Converts errors for bodies that are too long, truncated or badly encoded into those the caller sees. */
export function explainBodyError(cause: unknown): unknown {
  if (!(cause instanceof ServiceError)) return cause
  switch (cause.code) {
    case 'body_too_large':
      return new ApiError('request_too_large', cause.message)
    case 'body_encoding_unsupported':
      return new ApiError('unsupported_media_type', cause.message)
    case 'body_encoding_broken':
    case 'body_interrupted':
      return new ApiError('malformed', cause.message)
  }
  return cause
}
