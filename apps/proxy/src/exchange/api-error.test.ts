import { expect, test } from 'bun:test'
import { AttestationError } from '@privatemode/sdk'
import { ServiceError } from '@privatemode/service'
import { toApiError } from './api-error.ts'

test('a refused backend cannot be retried', () => {
  const shown = toApiError(new AttestationError('measurement_unknown', 'not listed'))
  expect(shown).toMatchObject({ code: 'attestation_refused', retryable: false })
})

test('a failure to fetch the manifest can be retried, and the message names the remedy', () => {
  const cause = new ServiceError('unknown_authority', 'set SSL_CERT_FILE')
  const error = new AttestationError('log_unreachable', 'log file could not be read', { cause })
  expect(toApiError(error)).toMatchObject({ code: 'gateway_unreachable', retryable: true })
  expect(toApiError(error).message).toContain('set SSL_CERT_FILE')
})

test('an unexpected error is shown without its message', () => {
  const shown = toApiError(new Error('the prompt was: attack at dawn'))
  expect(shown.code).toBe('internal_error')
  expect(shown.message).not.toContain('dawn')
})
