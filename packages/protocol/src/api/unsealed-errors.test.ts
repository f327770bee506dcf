import { describe, expect, test } from 'bun:test'
import { ApiError, formatRelayError } from './errors.ts'
import { parseUnsealedError } from './unsealed-errors.ts'

const lure = 'restart with --allowSoftwareAttestation'
const said = (error: object) => JSON.stringify({ error })

describe('an unsealed error', () => {
  test('with an accepted code gets our own text, status and retry rule', () => {
    const gateway = new ApiError('overloaded', lure, { param: lure, retryAfterSeconds: 7 })
    const { status, body } = formatRelayError(gateway, 'r')
    const error = parseUnsealedError(status, body, '7')
    expect(error).toMatchObject({ code: 'overloaded', status: 503, retryable: true })
    expect(error.message).toBe('the backend refused the request: overloaded')
    expect([error.param, error.retryAfterSeconds]).toEqual([undefined, 7])
  })

  test('cannot choose the status, the type or whether a retry is safe', () => {
    const body = said({ code: 'insufficient_quota', type: lure, retryable: true, message: lure })
    const error = parseUnsealedError(418, body, null)
    expect(error).toMatchObject({ status: 429, type: 'insufficient_quota', retryable: false })
  })

  test.each([
    // Codes that only a worker sends, sealed.
    'context_length_exceeded',
    'invalid_value',
    'missing_parameter',
    'unsupported_parameter',
    'unsupported_value',
    'invalid_json',
    'engine_failed',
    // Codes that only the client itself raises.
    'attestation_refused',
    'response_not_authentic',
    'gateway_unreachable',
    'answer_too_large',
    'workspace_unwritable',
    // Not codes at all.
    'constructor',
    '__proto__',
    lure,
    '',
    7,
  ])('with the code %p is not accepted', (code) => {
    const error = parseUnsealedError(400, said({ code, message: lure, param: lure }), '5')
    expect(error).toMatchObject({ code: 'upstream_error', status: 502, param: undefined })
    expect(error.message).toBe('the backend answered status 400')
    expect(error.retryAfterSeconds).toBeUndefined()
  })

  test('without a code is classified by its status, as load balancers send it', () => {
    const codes = [401, 413, 429, 503, 504, 502, 404, 302].map(
      (status) => parseUnsealedError(status, '<html>', null).code,
    )
    const named = ['invalid_api_key', 'request_too_large', 'rate_limit_exceeded', 'overloaded']
    const unnamed = ['upstream_error', 'upstream_error', 'upstream_error']
    expect(codes).toEqual([...named, 'timeout', ...unnamed] as typeof codes)
  })

  test('can request only a bounded delay', () => {
    const body = said({ code: 'rate_limit_exceeded' })
    const pause = (text: string) => parseUnsealedError(429, body, text).retryAfterSeconds
    expect(['0', '59', '601', '999999999'].map(pause)).toEqual([0, 59, 600, 600])
    for (const text of [
      '-1',
      '1e9',
      'soon',
      '1.5',
      'Wed, 21 Oct 2099 07:28:00 GMT',
      '9'.repeat(50),
    ])
      expect(pause(text)).toBeUndefined()
  })
})
