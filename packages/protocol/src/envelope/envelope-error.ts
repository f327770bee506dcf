/** Why sealed bytes were refused. */

export type EnvelopeErrorCode =
  /** The bytes do not follow the format. */
  | 'malformed'
  /** A tag does not fit: the bytes were changed, moved, repeated, or meant for somebody else. */
  | 'authentication_failed'
  /** The bytes stopped before the authenticated end. */
  | 'truncated'
  /** More bytes came after the authenticated end. */
  | 'trailing_bytes'
  /** A length is over its limit. */
  | 'too_large'
  /** The request is wrapped for other keys than the ones this worker holds. */
  | 'unknown_key'
  /** The request was issued too long ago, or in the future. */
  | 'stale_request'
  /** The request was seen before. */
  | 'replayed'
  /** Too many requests are remembered to accept one more. */
  | 'overloaded'

export class EnvelopeError extends Error {
  override readonly name = 'EnvelopeError'
  readonly code: EnvelopeErrorCode

  constructor(code: EnvelopeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
