/** Which of the relayed requests the database is asked about when their time is over. */
import { expect, test } from 'bun:test'
import { createLog } from '@privatemode/service'
import type { Database, Queries, Row } from '../state/database.ts'
import { newId } from '../testing/test-gateway.ts'
import { ExpectedUsage } from './expected-usage.ts'
import type { UsageRecord } from './usage-record.ts'

const relayed = (): UsageRecord => ({
  ...{ admissionId: newId(), requestId: newId(), workerId: 'w', keyId: 'key_1', model: 'm' },
  ...{ path: '/v1/chat/completions', status: 200, outcome: 'complete', durationMs: 1 },
  ...{ promptTokens: 1, cachedTokens: 0, completionTokens: 1, startedAtMs: Date.now() },
})

/** Notes what is asked, and knows nothing. */
function notingDatabase(noted: unknown[]): Database {
  const queries: Queries = {
    async query<R extends Row>(sql: string, values: readonly unknown[] = []): Promise<R[]> {
      if (sql.includes('from usage')) noted.push(JSON.parse(String(values[0])))
      return []
    },
    script: () => Promise.resolve(),
  }
  return { ...queries, transaction: (work) => work(queries), close: () => Promise.resolve() }
}

test('the database is not asked about usage that this gateway has stored itself', async () => {
  const noted: unknown[] = []
  const log = createLog({ format: 'json', level: 0, write: () => {} })
  const database = notingDatabase(noted)
  const expected = new ExpectedUsage({ database, log, clock: () => 0, graceMs: 60_000 })
  const [reported, unreported] = [relayed(), relayed()]
  expected.stored([reported])
  for (const request of [reported, unreported]) expected.expect(request)
  await expected.close()
  expect(noted).toEqual([[unreported.admissionId]])
  expect(expected.waiting).toBe(0)
})
