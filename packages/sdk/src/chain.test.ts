import { expect, test } from 'bun:test'
import { type ChainContext, describeChain, type LinkState } from './chain.ts'
import type { Verification, WorkerVerification } from './verification.ts'

const check = (id: string, result: 'passed' | 'failed' | 'skipped' = 'passed') => ({
  ...{ id, result, detail: 'seen' },
})

const worker: WorkerVerification = {
  ...{ worker_id: 'w_1', hardware: true, revocation: 'checked', machine: [], seal_key_id: 'k' },
  ...{ verified_at: '2026-01-01T00:00:00Z', valid_until: '2026-01-01T01:00:00Z' },
  ...{ models: ['m'], engine: 'vllm', build: 'b' },
  checks: [check('snp/report-signature'), check('snp/measurement'), check('binding/report-data')],
}

const verification: Verification = {
  manifest: {
    ...{ digest: 'd', serial: 1, issued_at: '2026-01-01T00:00:00Z', expires_at: null },
    ...{ log_signed_at: '2026-01-01T00:00:00Z', usable_until: null, evidence: 'hardware' },
    ...{ enforced_since: null, log_refused: null },
  },
  workers: [worker],
  refused: [],
}

const states = (seen: Verification | undefined, context: Partial<ChainContext> = {}) =>
  Object.fromEntries(
    describeChain(seen, { self: 'Here', quorum: 2, ...context }).map(({ id, state }) => [
      id,
      state,
    ]),
  ) as Record<string, LinkState>

const withWorker = (change: Partial<WorkerVerification>): Verification => ({
  ...verification,
  workers: [{ ...worker, ...change }],
})

test('verified links are green; the source is not, since it is not rebuilt here', () => {
  const { source, ...rest } = states(verification)
  expect(source).toBe('caution')
  expect(new Set(Object.values(rest))).toEqual(new Set(['good']))
})

test('software, unchecked revocation, a pinned manifest and a missing witness are amber', () => {
  expect(states(withWorker({ hardware: false })).vendor).toBe('caution')
  expect(states(withWorker({ revocation: 'not checked' })).vendor).toBe('caution')
  expect(states(withWorker({ revocation: 'tolerated' })).vendor).toBe('caution')
  const byHand = { ...verification, manifest: { ...verification.manifest!, log_signed_at: null } }
  expect(states(byHand)).toMatchObject({ log: 'caution', witnesses: 'caution' })
  expect(states(verification, { quorum: 0 }).witnesses).toBe('caution')
})

test('a log that was refused after machines were verified is red', () => {
  const manifest = { ...verification.manifest!, log_refused: 'log_forked' as const }
  const [log] = describeChain({ ...verification, manifest }, { self: 'Here', quorum: 2 }).filter(
    ({ id }) => id === 'log',
  )
  expect(log).toMatchObject({ state: 'bad', sentence: expect.stringContaining('log_forked') })
})

test('nothing is green before a machine is verified', () => {
  expect(new Set(Object.values(states(undefined)))).toEqual(new Set(['open']))
  const none = states({ ...verification, workers: [] })
  expect(none).toMatchObject({ sealing: 'open', binding: 'open', vendor: 'open', manifest: 'open' })
})

test('a refusal is red at the link it concerns, and nothing beyond it is green', () => {
  const refused = (code: string) => states(undefined, { refusal: { code, sentence: 'no' } })
  expect(refused('log_signature_invalid')).toMatchObject({ log: 'bad', vendor: 'open' })
  expect(refused('log_witnesses_missing').witnesses).toBe('bad')
  expect(refused('measurement_unknown')).toMatchObject({ manifest: 'bad', sealing: 'open' })
  expect(refused('software_refused').vendor).toBe('bad')
  expect(new Set(Object.values(refused('gateway_unreachable')))).toEqual(new Set(['open']))
})

test('each check is shown at one link, and a failed one makes that link red', () => {
  const links = describeChain(verification, { self: 'Here', quorum: 0 })
  const shown = links.flatMap(({ id, checks }) => checks.map((one) => `${id} ${one.id}`))
  expect(shown).toEqual([
    'binding binding/report-data',
    'vendor snp/report-signature',
    'manifest snp/measurement',
  ])
  const failed = withWorker({ checks: [check('snp/measurement', 'failed')] })
  expect(states(failed).manifest).toBe('bad')
})
