/**
 * Errors that reach a client unsealed: from the gateway, or from whoever is in its place.
 *
 * Nothing of what it says is passed on to an application. A code counts if it is on this list, and then
 * has our own text, status and retry rule. Codes about the content of a request come sealed from a worker,
 * and codes about trust come from the client itself: unsealed they do not count.
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

/** What a client makes of a response that is not sealed: always an error, in our words. */
export function parseUnsealedError(
  status: number,
  body: string,
  retryAfter: string | null | undefined,
): ApiError {
  // Load balancers and ingresses say it with a status alone.
  const said = readErrorObject(body)?.code ?? codeOfStatus(status)
  const code = codes.find((one) => one === said)
  if (code === undefined) {
    const hint = status === 404 ? '; check its address' : ''
    return new ApiError('upstream_error', `the backend answered status ${status}${hint}`)
  }
  return new ApiError(code, textOf(code), {
    param: code === 'model_not_found' ? 'model' : undefined,
    retryAfterSeconds: parseRetryAfter(retryAfter),
  })
}

/** From the code alone: a text for each would be a kilobyte in every bundle. */
function textOf(code: UnsealedErrorCode): string {
  const hint = code === 'stale_request' ? '; check the clock of this machine' : ''
  return `the backend refused the request: ${code.replaceAll('_', ' ')}${hint}`
}

/** Whole seconds only: the other form, a date, would let a clock that is wrong decide. */
function parseRetryAfter(text: string | null | undefined): number | undefined {
  if (typeof text !== 'string' || !/^\d{1,9}$/.test(text)) return undefined
  return Math.min(Number(text), maxRetryAfterSeconds)
}
