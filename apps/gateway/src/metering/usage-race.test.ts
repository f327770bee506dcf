/** Reports about one request that two gateways store at the same moment, on a real PostgreSQL. */
import { afterAll, beforeAll, expect } from 'bun:test'
import { unlessMissing } from '@privatemode/service/testing'
import { createKey } from '../keys/key-store.ts'
import { noLimits } from '../keys/limits.ts'
import type { Database } from '../state/database.ts'
import { openDatabase } from '../state/open-database.ts'
import { missingPostgres, type PostgresServer, startPostgres } from '../testing/postgres-server.ts'
import { newId } from '../testing/test-gateway.ts'
import type { UsageRecord } from './usage-record.ts'
import { storeUsage } from './usage-store.ts'

const noPostgres = missingPostgres()

let postgres: PostgresServer
let database: Database
let record: UsageRecord

beforeAll(async () => {
  if (noPostgres !== undefined) return
  postgres = await startPostgres()
  database = await openDatabase({ kind: 'server', url: postgres.url, connections: 3 })
  const { key } = await createKey(database, {
    accountId: 'acct_default',
    name: 'race',
    expiresAt: null,
    limits: noLimits,
    createdBy: null,
  })
  record = {
    admissionId: newId(),
    requestId: newId(),
    workerId: 'w_one',
    keyId: key.id,
    model: 'test-model',
    path: '/v1/chat/completions',
    status: 200,
    outcome: 'complete',
    promptTokens: 10,
    cachedTokens: 0,
    completionTokens: 5,
    startedAtMs: Date.now(),
    durationMs: 100,
  }
})

afterAll(async () => {
  if (noPostgres !== undefined) return
  await database.close()
  await postgres.stop()
})

unlessMissing(noPostgres).test(
  'a report replaces a lesser one that is not committed yet',
  async () => {
    const inserted = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const lost: UsageRecord = { ...record, outcome: 'lost', promptTokens: 0, completionTokens: 0 }
    const first = database.transaction(async (queries) => {
      const result = await storeUsage({ ...database, ...queries }, [lost])
      inserted.resolve()
      await release.promise
      return result
    })
    await inserted.promise
    const second = storeUsage(database, [record])
    await untilBlocked()
    release.resolve()
    expect(await first).toEqual({ stored: 1, unknown: 0 })
    expect(await second).toEqual({ stored: 1, unknown: 0 })
    expect(await database.query('select outcome, completion_tokens from usage')).toEqual([
      { outcome: 'complete', completion_tokens: 5 },
    ])
    const sums = `select outcome, requests, completion_tokens from usage_hourly where requests <> 0`
    expect(await database.query(sums)).toEqual([
      { outcome: 'complete', requests: 1, completion_tokens: 5 },
    ])
  },
)

async function untilBlocked(): Promise<void> {
  const blocked = `select 1 from pg_stat_activity where wait_event_type = 'Lock'`
  while ((await database.query(blocked)).length === 0) await Bun.sleep(20)
}
