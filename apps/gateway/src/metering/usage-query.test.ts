/** Which usage can be queried, and by whom. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import { createAccount } from '../accounts/account-store.ts'
import { createKey } from '../keys/key-store.ts'
import { noLimits } from '../keys/limits.ts'
import { createMember } from '../members/member-store.ts'
import type { Database } from '../state/database.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import { newId } from '../testing/test-gateway.ts'
import { exportUsage } from './usage-csv.ts'
import { listRequests, sumUsage } from './usage-query.ts'
import type { UsageRecord } from './usage-record.ts'
import { storeUsage } from './usage-store.ts'

const startMs = Date.UTC(2026, 0, 1)
const range = { from: new Date(startMs), to: new Date(startMs + 86_400_000) }
let database: Database
let own: { accountId: string; keyId: string }
let foreign: { accountId: string; keyId: string }

beforeAll(async () => {
  database = await openTestDatabase()
  own = await accountWithKey()
  foreign = await accountWithKey()
})

afterAll(() => database.close())

async function accountWithKey() {
  const { id: accountId } = await createAccount(database, 'some', noLimits)
  const { key } = await createKey(database, {
    ...{ accountId, name: 'some', expiresAt: null, limits: noLimits },
  })
  await storeUsage(database, [recordOf(key.id, 0), recordOf(key.id, 1), recordOf(key.id, 2)])
  return { accountId, keyId: key.id }
}

const recordOf = (keyId: string, minute: number): UsageRecord => ({
  ...{ admissionId: newId(), requestId: newId(), workerId: 'w_one', keyId },
  ...{ model: 'm', path: '/v1/chat/completions' },
  ...{ status: 200, outcome: 'complete', promptTokens: 3, cachedTokens: 0, completionTokens: 2 },
  ...{ startedAtMs: startMs + minute * 60_000, durationMs: 5 },
})

test("a key's requests are listed for its own account, and for no other", async () => {
  const list = (accountId: string | undefined, keyId: string) =>
    listRequests(database, { accountId, keyId, ...range }, undefined, 10)
  expect(await list(own.accountId, own.keyId)).toHaveLength(3)
  expect(await list(undefined, own.keyId)).toHaveLength(3)
  expect(await list(own.accountId, foreign.keyId)).toEqual([])
  expect(await list(own.accountId, 'key_none')).toEqual([])
  const sums = (keyId: string) =>
    sumUsage(database, { accountId: own.accountId, keyId, ...range }, 'all', [])
  expect(await sums(own.keyId)).toMatchObject([{ requests: 3, prompt_tokens: 9 }])
  expect(await sums(foreign.keyId)).toEqual([])
})

test('pages continue where the last one ended', async () => {
  const asked = { accountId: own.accountId, keyId: own.keyId, ...range }
  const [first, second] = await listRequests(database, asked, undefined, 2)
  const cursor = { startedAt: second!.started_at, admissionId: second!.admission_id }
  const rest = await listRequests(database, asked, cursor, 2)
  expect(rest).toHaveLength(1)
  const pages = await Array.fromAsync(exportUsage(database, asked))
  const ids = [first, second, rest[0]].map((row) => row?.request_id)
  const lines = pages.join('').trimEnd().split('\r\n').slice(1)
  expect(lines.map((line) => line.split(',')[0])).toEqual(ids)
})

test('the newest requests come first if asked for', async () => {
  const asked = { accountId: own.accountId, keyId: own.keyId, ...range }
  const oldest = await listRequests(database, asked, undefined, 10)
  const [first, second] = await listRequests(database, asked, undefined, 2, 'newest')
  const cursor = { startedAt: second!.started_at, admissionId: second!.admission_id }
  const rest = await listRequests(database, asked, cursor, 2, 'newest')
  expect([first, second, ...rest]).toEqual(oldest.toReversed())
})

test('sums name members of the account only, not staff of the operator', async () => {
  const person = { email: 'maker@example.org', name: 'Maker', passwordHash: null }
  for (const accountId of ['acct_default', own.accountId]) {
    const maker = await createMember(database, { ...person, accountId, role: 'admin' })
    const { key } = await createKey(database, {
      ...{ accountId: own.accountId, name: 'made', expiresAt: null, limits: noLimits },
      createdBy: maker.id,
    })
    await storeUsage(database, [recordOf(key.id, 0)])
    const asked = { accountId: own.accountId, keyId: key.id, ...range }
    const [row] = await sumUsage(database, asked, 'all', ['member'])
    expect(row?.member_id).toBe(accountId === own.accountId ? maker.id : null)
  }
})

test('sums that would be truncated are refused, with the remedy', async () => {
  await database.query(
    `insert into usage_hourly
     select $1, $2::timestamptz + n * interval '1 second', 'k', 'model-' || n, '/v1/embeddings', 'complete',
       1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1 from generate_series(1, 20001) n`,
    [foreign.accountId, new Date(startMs)],
  )
  const asked = { accountId: foreign.accountId, keyId: undefined, ...range }
  expect(await rejection(sumUsage(database, asked, 'hour', ['model']))).toMatchObject({
    code: 'invalid_value',
    message: expect.stringContaining('more than 20000 rows'),
  })
  expect(await sumUsage(database, asked, 'hour', ['path'])).toHaveLength(7)
})
