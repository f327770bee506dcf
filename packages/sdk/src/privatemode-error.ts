/** The only error class of this package: a code to act on, whether a retry is safe, and never any content. */
import { AttestationError, type AttestationErrorCode, type Check } from '@privatemode/attestation'
import {
  ApiError,
  type ApiErrorCode,
  codeOfStatus,
  parseRelayError,
} from '@privatemode/protocol/api'
import { refusedError } from './refusals.ts'

/** The closed set of error codes. They are part of the API and listed in `docs/sdk.md`. */
export type PrivatemodeErrorCode =
  | ApiErrorCode
  /** An option of `connect` is invalid or contradicts another. */
  | 'invalid_options'
  /** The receipt does not match what the worker must have signed. */
  | 'receipt_invalid'
  /** The answer was not read to its end, so there is no receipt. */
  | 'receipt_missing'

export type PrivatemodeErrorFacts = {
  readonly retryable: boolean
  readonly status?: number | undefined
  readonly param?: string | undefined
  readonly requestId?: string | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly refusal?: AttestationErrorCode | undefined
  readonly checks?: readonly Check[]
}

/** The error this package throws. Act on `code`, never on the message. */
export class PrivatemodeError extends Error {
  override readonly name = 'PrivatemodeError'
  readonly code: PrivatemodeErrorCode
  /** Whether the same call may be made again: nothing was answered that could be answered twice. */
  readonly retryable: boolean
  /** The HTTP status the API assigns to this error, if any. */
  readonly status: number | undefined
  /** The request field the error is about. */
  readonly param: string | undefined
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  /** Why the backend was refused, if `code` is `attestation_refused`. */
  readonly refusal: AttestationErrorCode | undefined
  /** Every check up to and including the failed one. */
  readonly checks: readonly Check[]

  constructor(
    code: PrivatemodeErrorCode,
    message: string,
    facts: PrivatemodeErrorFacts,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.code = code
    this.retryable = facts.retryable
    this.status = facts.status
    this.param = facts.param
    this.requestId = facts.requestId
    this.retryAfterSeconds = facts.retryAfterSeconds
    this.refusal = facts.refusal
    this.checks = facts.checks ?? []
  }
}

/** Converts every failure of the layers below to its public form. An abort keeps the platform's reason. */
export function toPrivatemodeError(error: unknown, requestId?: string): unknown {
  if (error instanceof ApiError) return fromApi(error, requestId)
  if (error instanceof AttestationError) return fromApi(refusedError(error), requestId)
  return error
}

/** The error in an answer that a worker sealed: it is authentic, and about the request itself. */
export function errorOfAnswer(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
  requestId: string,
): PrivatemodeError {
  const error = parseRelayError(status, body, headers['retry-after'])
  const known = error.code === 'upstream_error' ? codeOfStatus(status) : error.code
  const retryable =
    headers['x-should-retry'] === 'false' ? false : new ApiError(known, '').retryable
  const { param, retryAfterSeconds } = error
  const facts = { retryable, status, param, requestId, retryAfterSeconds }
  return new PrivatemodeError(known, error.message, facts)
}

function fromApi(error: ApiError, requestId: string | undefined): PrivatemodeError {
  const { code, message, retryable, status, param, retryAfterSeconds, cause } = error
  const refusal = cause instanceof AttestationError ? cause : undefined
  const facts = {
    retryable,
    status,
    param,
    requestId,
    retryAfterSeconds,
    refusal: refusal?.code,
    checks: refusal?.checks ?? [],
  }
  return new PrivatemodeError(code, message, facts, { cause: error })
}
