import { expect, test } from 'bun:test'
import { Admissions, admittedAtMs } from './admissions.ts'
import { parseSignedUsage, parseUsageRecord } from './usage-record.ts'

const admissions = new Admissions(new Uint8Array(32))
const admissionId = admissions.newId()
const admitted = {
  ...{ admissionId, workerId: 'w_1', keyId: 'key_1', requestId: 'ab'.repeat(16) },
  ...{ model: 'm', path: '/v1/chat/completions' },
}
const wire = {
  ...{ version: 2, admission: admissions.format(admitted), request_id: admitted.requestId },
  ...{ worker_id: 'w_1', key_ref: 'key_1', model: 'm', path: admitted.path },
  ...{ status: 200, outcome: 'complete', prompt_tokens: 3, cached_tokens: 1 },
  ...{ completion_tokens: 2, started_at: 5, duration_ms: 7 },
}
const parse = (changes: object) =>
  parseUsageRecord(new TextEncoder().encode(JSON.stringify({ ...wire, ...changes })))

test('counts of a report are whole numbers within bounds', () => {
  const most = { prompt_tokens: 1e9, cached_tokens: 1e9, completion_tokens: 1e9 }
  expect(parse({ ...most, duration_ms: 24 * 86_400_000 })).toMatchObject({ promptTokens: 1e9 })
  for (const changes of [
    ...[1e9 + 1, -1, 0.5, '3', null].map((prompt_tokens) => ({ prompt_tokens })),
    ...[{ completion_tokens: 1e9 + 1 }, { cached_tokens: 4 }, { duration_ms: 24 * 86_400_000 + 1 }],
    ...[{ status: 1000 }, { outcome: 'lost' }, { key_ref: 'k'.repeat(65) }, { path: '/V1' }],
  ]) {
    expect([changes, parse(changes)]).toEqual([changes, undefined])
  }
})

test('a record has at most 8 KiB', () => {
  const rest = { rest_digest: 'ab'.repeat(32), signature: `${'A'.repeat(86)}==` }
  expect(parseSignedUsage({ record: 'A'.repeat(8192), ...rest })).toBeDefined()
  expect(parseSignedUsage({ record: 'A'.repeat(8193), ...rest })).toBeUndefined()
})

test('a request is billed from its admission to its report at most', () => {
  const reported = parse({ started_at: 1, duration_ms: 86_400_000 })
  const billed = admissions.settle(reported!)
  expect(billed?.startedAtMs).toBe(admittedAtMs(admissionId))
  expect(billed?.durationMs).toBeLessThanOrEqual(Date.now() - admittedAtMs(admissionId))
  expect(admissions.settle(parse({})!)?.durationMs).toBeLessThanOrEqual(7)
})
