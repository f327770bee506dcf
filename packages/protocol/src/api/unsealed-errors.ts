/**
 * Errors that reach a client unsealed: from the gateway, or from anyone impersonating it.
 *
 * None of their text is passed on to the application. A code is accepted only if it is on this
 * list, and then gets our own text, status and retry rule. Codes about the content of a request
 * arrive sealed from a worker, and codes about trust are raised by the client itself: unsealed,
 * both are ignored.
 */
import { ApiError, type ApiErrorCode, codeOfStatus, readErrorObject } from './errors.ts'

const codes = [
  'malformed',
  'stale_request',
  'invalid_api_key',
  'permission_denied',
  'model_not_found',
  'worker_unknown',
  'unknown_key',
  'replayed',
  'request_too_large',
  'rate_limit_exceeded',
  'insufficient_quota',
  'internal_error',
  'worker_unreachable',
  'overloaded',
  'no_worker',
  'timeout',
] as const satisfies readonly ApiErrorCode[]

export type UnsealedErrorCode = (typeof codes)[number]

const maxRetryAfterSeconds = 600

/** Turns an unsealed response into an error, always with our own text. */
export function parseUnsealedError(
  status: number,
  body: string,
  retryAfter: string | null | undefined,
): ApiError {
  // Load balancers and ingresses send a status without a code.
  const received = readErrorObject(body)?.code ?? codeOfStatus(status)
  const code = codes.find((one) => one === received)
  if (code === undefined) {
    const hint = status === 404 ? '; check its address' : ''
    return new ApiError('upstream_error', `the backend answered status ${status}${hint}`)
  }
  return new ApiError(code, textOf(code), {
    param: code === 'model_not_found' ? 'model' : undefined,
    retryAfterSeconds: parseRetryAfter(retryAfter),
  })
}

/** Derived from the code: a separate text for each would add a kilobyte to every bundle. */
function textOf(code: UnsealedErrorCode): string {
  const hint = code === 'stale_request' ? '; check the clock of this machine' : ''
  return `the backend refused the request: ${code.replaceAll('_', ' ')}${hint}`
}

/**
 * Accepts whole seconds only: the other form, a date, would depend on a clock that may be wrong.
 */
function parseRetryAfter(text: string | null | undefined): number | undefined {
  if (typeof text !== 'string' || !/^\d{1,9}$/.test(text)) return undefined
  return Math.min(Number(text), maxRetryAfterSeconds)
}
