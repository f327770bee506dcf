import { expect, test } from 'bun:test'
import { AttestationError } from '@privatemode/attestation'
import { ApiError } from '@privatemode/protocol/api'
import { errorOfAnswer, PrivatemodeError, toPrivatemodeError } from './privatemode-error.ts'

test('an API error keeps its code, its status and whether a retry is safe', () => {
  const limited = new ApiError('rate_limit_exceeded', 'slow down', { retryAfterSeconds: 3 })
  expect(toPrivatemodeError(limited, 'r1')).toMatchObject({
    name: 'PrivatemodeError',
    code: 'rate_limit_exceeded',
    status: 429,
    retryable: true,
    retryAfterSeconds: 3,
    requestId: 'r1',
  })
  const wrong = new ApiError('invalid_api_key', 'no such key')
  expect(toPrivatemodeError(wrong)).toMatchObject({ retryable: false })
})

test('a refusal carries its reason and the checks, and is not retryable', () => {
  const checks = [
    { id: 'snp/measurement', result: 'failed' as const, detail: 'seen a, expected b' },
  ]
  const refused = new AttestationError('measurement_unknown', 'snp/measurement: a', { checks })
  expect(toPrivatemodeError(refused)).toMatchObject({
    code: 'attestation_refused',
    refusal: 'measurement_unknown',
    retryable: false,
    checks,
  })
})

test('an unreachable log is not a refusal, and is retryable', () => {
  const away = new AttestationError('log_unreachable', 'checkpoint: status 502')
  expect(toPrivatemodeError(away)).toMatchObject({ code: 'gateway_unreachable', retryable: true })
})

test('errors that are not ours pass through unchanged', () => {
  const abort = new DOMException('stop', 'AbortError')
  expect(toPrivatemodeError(abort)).toBe(abort)
  const ours = new PrivatemodeError('receipt_missing', 'none', { retryable: false })
  expect(toPrivatemodeError(ours)).toBe(ours)
})

test.each([
  [400, 'invalid_value', false],
  [401, 'invalid_api_key', false],
  [403, 'permission_denied', false],
  [404, 'not_found', false],
  [413, 'request_too_large', false],
  [429, 'rate_limit_exceeded', true],
  [500, 'internal_error', true],
  [504, 'timeout', true],
  [529, 'overloaded', true],
  [418, 'upstream_error', true],
] as const)("status %p of Anthropic's dialect has code %p", (status, code, retryable) => {
  const body = JSON.stringify({ type: 'error', error: { type: 'some_error', message: 'words' } })
  const error = errorOfAnswer(status, {}, body, 'r1')
  expect(error).toMatchObject({ code, retryable, status, message: 'words', requestId: 'r1' })
})

test('the code in an answer takes precedence over its status, and a header can forbid a retry', () => {
  const body = JSON.stringify({ error: { code: 'engine_failed', message: 'm', param: null } })
  expect(errorOfAnswer(500, {}, body, 'r1')).toMatchObject({
    code: 'engine_failed',
    retryable: true,
  })
  const forbidden = errorOfAnswer(500, { 'x-should-retry': 'false' }, body, 'r1')
  expect(forbidden.retryable).toBe(false)
})
