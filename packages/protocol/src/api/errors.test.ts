/** Errors have the status, headers and body that the clients of each dialect expect. */
import { describe, expect, test } from 'bun:test'
import { ApiError, formatError, formatRelayError, parseRelayError } from './errors.ts'

describe('in the OpenAI dialect', () => {
  test('the body has message, type, param and code, and both request ids', () => {
    const error = new ApiError('invalid_value', "'n' must be at most 128", { param: 'n' })
    const { status, headers, body } = formatError('openai', error, 'r1')
    expect(status).toBe(400)
    expect(headers).toMatchObject({ 'x-request-id': 'r1', 'request-id': 'r1' })
    expect(JSON.parse(body)).toEqual({
      error: {
        message: "'n' must be at most 128",
        type: 'invalid_request_error',
        param: 'n',
        code: 'invalid_value',
      },
    })
  })

  test('overload stays 503 and sets retry-after', () => {
    const error = new ApiError('overloaded', 'busy', { retryAfterSeconds: 7 })
    const { status, headers } = formatError('openai', error, 'r')
    expect([status, headers['retry-after'], headers['x-should-retry']]).toEqual([
      503,
      '7',
      undefined,
    ])
  })
})

describe('in the Anthropic dialect', () => {
  test.each([
    ['invalid_value', 400, 'invalid_request_error'],
    ['invalid_api_key', 401, 'authentication_error'],
    ['permission_denied', 403, 'permission_error'],
    ['model_not_found', 404, 'not_found_error'],
    ['method_not_allowed', 405, 'invalid_request_error'],
    ['request_too_large', 413, 'request_too_large'],
    ['rate_limit_exceeded', 429, 'rate_limit_error'],
    ['engine_failed', 500, 'api_error'],
    ['worker_unreachable', 502, 'api_error'],
    ['overloaded', 529, 'overloaded_error'],
  ] as const)('check 05: %s is %d %s', (code, status, type) => {
    const wire = formatError('anthropic', new ApiError(code, 'why'), 'r2')
    expect(wire.status).toBe(status)
    expect(JSON.parse(wire.body)).toEqual({
      type: 'error',
      error: { type, message: 'why' },
      request_id: 'r2',
    })
    expect(wire.headers['retry-after']).toBe(status === 429 || status === 529 ? '1' : undefined)
  })
})

test('check 10: an error that a retry cannot fix forbids the retry', () => {
  const wire = formatError('openai', new ApiError('attestation_refused', 'no'), 'r')
  expect(wire.headers['x-should-retry']).toBe('false')
})

describe('between client, gateway and worker', () => {
  test('an error comes back as it was sent', () => {
    const error = new ApiError('unknown_key', 'attest again', { param: 'key' })
    const wire = formatRelayError(error, 'r')
    expect(parseRelayError(wire.status, wire.body, undefined)).toMatchObject({
      code: 'unknown_key',
      status: 409,
      message: 'attest again',
      param: 'key',
      retryable: true,
    })
  })

  test('text from an untrusted sender is truncated and stripped of control characters', () => {
    const body = JSON.stringify({
      error: { code: 'constructor', message: `\u001b[2J${'x'.repeat(900)}` },
    })
    const error = parseRelayError(418, body, '99999')
    expect(error.code).toBe('upstream_error')
    expect(error.message).toHaveLength(500)
    expect(error.message).not.toContain('\u001b')
    expect(error.retryAfterSeconds).toBeUndefined()
    expect(parseRelayError(502, '<html>', '3')).toMatchObject({
      message: 'upstream answered status 502',
      retryAfterSeconds: 3,
    })
  })
})
