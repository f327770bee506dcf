import { expect, test } from 'bun:test'
import type { Verification } from '@privatemode/sdk'
import { readReadiness } from './readiness.ts'

const at = new Date('2026-03-04T12:00:00Z')
const manifest: NonNullable<Verification['manifest']> = {
  digest: 'sha256:aa',
  serial: 1,
  issued_at: '2026-03-01T00:00:00.000Z',
  expires_at: '2026-05-30T00:00:00.000Z',
  log_signed_at: '2026-03-01T12:00:01.000Z',
  usable_until: '2026-03-04T12:00:01.000Z',
  log_refused: null,
  evidence: 'hardware',
  enforced_since: null,
}
const read = (change: Partial<typeof manifest>, when = at) => {
  const verification = { manifest: { ...manifest, ...change }, workers: [], refused: [] }
  return readReadiness({ verification: () => verification }, false, false, undefined, when)
}

test("readiness reports the log's age and until when the manifest may be used", () => {
  expect(read({})).toMatchObject({
    ready: true,
    log_age_seconds: 72 * 3600 - 1,
    usable_until: manifest.usable_until,
  })
  const byHand = read({ log_signed_at: null, usable_until: null })
  expect(byHand).toMatchObject({ ready: true, log_age_seconds: null, usable_until: null })
})

test('a proxy whose manifest is out of date is not ready, and a log signed ahead has no age', () => {
  const late = read({}, new Date('2026-03-04T12:00:01Z'))
  expect(late).toMatchObject({ ready: false, reason: 'manifest out of date' })
  expect(read({ log_signed_at: '2026-03-04T12:30:00.000Z' }).log_age_seconds).toBe(0)
})

test('a proxy whose manifest log was refused is not ready and says why, before the next round too', () => {
  const refused = { log_refused: 'log_forked', usable_until: at.toISOString() } as const
  const reason = 'manifest log refused'
  expect(read(refused)).toMatchObject({ ready: false, reason, cause: 'log_forked' })
  const verification = { manifest: { ...manifest, ...refused }, workers: [], refused: [] }
  const cause = 'manifest log forked: ... (log_forked)'
  expect(
    readReadiness({ verification: () => verification }, false, false, cause, at),
  ).toMatchObject({ ready: false, reason, cause })
})

test('a proxy that is not ready reports why the last attempt failed, and a ready one does not', () => {
  const cause = 'failed to connect to api.test:443 (network)'
  const none = { manifest: undefined, workers: [], refused: [] } as unknown as Verification
  expect(readReadiness({ verification: () => none }, true, false, cause, at)).toMatchObject({
    ready: false,
    cause,
  })
  const known = { manifest, workers: [], refused: [] }
  expect(readReadiness({ verification: () => known }, false, false, cause, at)).toEqual({
    ...readReadiness({ verification: () => known }, false, false, undefined, at),
  })
})

test('without its own key, refused workers do not keep clients away who could verify them', () => {
  const refusal = {
    worker_id: 'w_1',
    code: 'unreachable',
    reason: 'no answer',
    checks: [],
  } as const
  const verification = { manifest, workers: [], refused: [refusal] }
  const read = (hasOwnKey: boolean) =>
    readReadiness({ verification: () => verification }, hasOwnKey, false, undefined, at)
  expect(read(true)).toMatchObject({ ready: false, reason: 'no verified worker' })
  expect(read(false)).toMatchObject({ ready: true, verified_workers: 0 })
  expect(read(false).reason).toContain('no worker verified')
})
