/** The reasons why sealed bytes are refused. */

export type EnvelopeErrorCode =
  /** The bytes do not follow the format. */
  | 'malformed'
  /**
   * A tag does not verify: the bytes were changed, moved, repeated, or meant for another recipient.
   */
  | 'authentication_failed'
  /** The bytes stopped before the authenticated end. */
  | 'truncated'
  /** More bytes came after the authenticated end. */
  | 'trailing_bytes'
  /** A length exceeds its limit. */
  | 'too_large'
  /** The request is wrapped for keys that this worker does not hold. */
  | 'unknown_key'
  /** The request was issued too long ago, or in the future. */
  | 'stale_request'
  /** The request was seen before. */
  | 'replayed'
  /** The replay guard is full: too many requests to remember one more. */
  | 'overloaded'

export class EnvelopeError extends Error {
  override readonly name = 'EnvelopeError'
  readonly code: EnvelopeErrorCode

  constructor(code: EnvelopeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
