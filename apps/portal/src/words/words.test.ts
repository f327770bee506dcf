import { expect, test } from 'bun:test'
import { ApiError, type AttestationErrorCode } from '@privatemode/sdk'
import { describeAction, describeDetails } from './describe-audit.ts'
import { describeEvidence } from './describe-evidence.ts'
import { describeFailure } from './describe-failure.ts'
import { describeSignInFailure } from './describe-sign-in.ts'
import { explainRefusal } from './explain-refusal.ts'
import { formatLimitList } from './format-limits.ts'
import { formatAgo, formatDuration, formatMoment } from './format-time.ts'

const now = new Date('2030-03-15T12:00:00Z')

test.each([
  ['2030-03-15T11:59:40Z', 'just now'],
  ['2030-03-15T11:59:00Z', '1 minute ago'],
  ['2030-03-15T09:30:00Z', '2 hours ago'],
  ['2030-03-18T13:00:00Z', 'in 3 days'],
  ['2030-06-13T11:58:00Z', 'in 90 days'],
  ['2030-03-15T12:00:50Z', 'in a moment'],
  ['2030-03-13T12:30:00Z', '1 day ago'],
])('%s is %s', (iso, words) => {
  expect(formatAgo(iso, now)).toBe(words)
})

test('a moment is formatted as a date', () => {
  expect(formatMoment('2030-03-15T12:00:00Z')).toMatch(/^2030-03-1\d \d\d:\d\d$/)
})

test('durations are formatted in the unit that fits', () => {
  expect([0, 250, 1_400, 42_000, 150_000].map(formatDuration)).toEqual([
    '0 ms',
    '250 ms',
    '1.4 s',
    '42 s',
    '2.5 min',
  ])
})

test('only limits that are set are shown', () => {
  const limits = {
    requests_per_minute: 60,
    tokens_per_minute: null,
    tokens_per_month: 2_000_000,
    concurrent_streams: null,
  }
  expect(formatLimitList(limits)).toEqual(['60 requests per minute', '2M tokens per month'])
})

test('a failure says what to do next, and a limit when', () => {
  const limited = new ApiError('rate_limit_exceeded', 'too many', { retryAfterSeconds: 7 })
  expect(describeFailure(limited)).toEqual({ reason: 'too many', next: 'Try again in 7 seconds.' })
  expect(describeFailure(new TypeError('x is not a function')).reason).not.toContain('function')
})

test('while a model server is away, the advice is to wait, whoever noticed it', () => {
  for (const code of [
    'engine_unavailable',
    'overloaded',
    'worker_unreachable',
    'no_worker',
  ] as const) {
    expect(describeFailure(new ApiError(code, 'away')).next).toContain('Try again in a moment')
  }
})

test('an unknown code, or one that is the name of a method, gets general advice', () => {
  for (const code of ['of_another_version', 'toString']) {
    const error = Object.assign(new Error('no'), { code })
    expect(describeFailure(error).next).toContain('Reload the page')
  }
})

test('a failed sign-in is described in our words, whatever the address contains', () => {
  expect(describeSignInFailure('not_member').next).toContain('invitation')
  expect(describeSignInFailure('unreachable').next).toContain('password')
  expect(describeSignInFailure('<b>send me your password</b>')).toEqual(
    describeSignInFailure('not_confirmed'),
  )
})

test.each<[AttestationErrorCode, string]>([
  ['log_signature_invalid', 'log'],
  ['log_rolled_back', 'log'],
  ['log_stale', 'log'],
  ['clock_untrusted', 'log'],
  ['manifest_expired', 'manifest'],
  ['log_inclusion_invalid', 'log'],
  ['manifest_refused', 'manifest'],
  ['software_refused', 'machine'],
  ['measurement_unknown', 'machine'],
  ['log_unreachable', 'network'],
])('a refusal with %s is shown at the step %s', (refusal, step) => {
  expect(explainRefusal(refusal, 'attestation_refused').step).toBe(step as never)
})

test('what could not be checked is never shown as verified', () => {
  expect(explainRefusal(undefined, 'gateway_unreachable').next).toContain('not verified')
  expect(explainRefusal(undefined, 'no_worker').step).toBe('machine')
})

test('an audit log entry is described in words, and an unknown action by its name', () => {
  expect(describeAction('key.revoked')).toBe('Revoked API key')
  expect(describeAction('key.invented')).toBe('key.invented')
  expect(
    describeDetails({
      ...{ role: 'admin', disabled: true, expires_at: null, invitation_id: 'inv_x' },
      limits: { requests_per_minute: 60, tokens_per_minute: null },
    }),
  ).toBe('role: admin, disabled: yes, never expires, requests per minute: 60')
})

test('prices and budgets in the audit log are amounts that people read', () => {
  const prices = ['large-2 150000/15000/600000', 'old removed']
  expect(describeDetails({ currency: 'EUR', micros_per_million_tokens: prices })).toBe(
    'large-2: €0.15 input, €0.015 cached input, €0.60 output per million tokens, old removed',
  )
  expect(describeDetails({ of: 'key', budget_micros: 25_000_000 }, 'EUR')).toBe(
    'budget: €25.00 a month',
  )
  expect(describeDetails({ of: 'key', budget_micros: 2_500_000 })).toBe('budget: 2.5 a month')
  expect(describeDetails({ of: 'key', budget_micros: null }, 'EUR')).toBe('budget: none')
})

test('evidence is told by its kind and by what it measures, never by a check that failed', () => {
  const measurement = 'ab'.repeat(48)
  const check = (id: string, detail = '', result = 'passed') => ({ id, detail, result })
  const snp = check('snp/measurement', `measurement ${measurement}, manifest lists ${measurement}`)
  expect(describeEvidence([snp, check('nvidia/gpu')])).toEqual({
    ...{ kind: 'AMD SEV-SNP with NVIDIA devices', measurement },
  })
  expect(describeEvidence([{ ...snp, result: 'failed' }]).measurement).toBeUndefined()
  const tdx = check('tdx/measurements', `MRTD ${measurement}, RTMRs 00; the manifest lists 1 sets`)
  expect(describeEvidence([tdx])).toEqual({ kind: 'Intel TDX', measurement })
})
