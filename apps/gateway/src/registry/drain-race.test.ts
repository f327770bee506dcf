/**
 * Two operators draining two machines at once, on a real PostgreSQL: the embedded database runs one
 * query at a time.
 */
import { afterAll, beforeAll, expect } from 'bun:test'
import { unlessMissing } from '@privatemode/service/testing'
import type { Database } from '../state/database.ts'
import { openDatabase } from '../state/open-database.ts'
import { missingPostgres, type PostgresServer, startPostgres } from '../testing/postgres-server.ts'
import { testModel } from '../testing/scripted-worker.ts'
import { judgeDrain, renewLease, requestDrain } from './worker-store.ts'

const noPostgres = missingPostgres()
const bytes = new Uint8Array(32)
let postgres: PostgresServer
let database: Database

beforeAll(async () => {
  if (noPostgres !== undefined) return
  postgres = await startPostgres()
  database = await openDatabase({ kind: 'server', url: postgres.url, connections: 3 })
  for (const id of ['w_one', 'w_two']) {
    const worker = {
      ...{ id, url: 'http://127.0.0.1:9', sealKeyId: '00'.repeat(8), receiptKey: bytes },
      ...{ relayKey: bytes, capacity: 1, active: 0, draining: false },
      models: [testModel],
    }
    await renewLease(database, worker, 600)
  }
}, 120_000)

afterAll(async () => {
  if (noPostgres !== undefined) return
  await database.close()
  await postgres.stop()
}, 60_000)

unlessMissing(noPostgres).test(
  'the second of two machines drained at once is the last one',
  async () => {
    const judged = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const first = database.transaction(async (queries) => {
      const effect = await judgeDrain(queries, 'w_one')
      await requestDrain(queries, 'w_one', true)
      judged.resolve()
      await release.promise
      return effect
    })
    await judged.promise
    const second = database.transaction((queries) => judgeDrain(queries, 'w_two'))
    await Promise.race([second, untilBlocked()])
    release.resolve()
    expect(await first).toEqual({ remaining: 1, unservedModels: [] })
    expect(await second).toEqual({ remaining: 0, unservedModels: [testModel.id] })
  },
  120_000,
)

async function untilBlocked(): Promise<void> {
  const blocked = `select 1 from pg_stat_activity where wait_event_type = 'Lock'`
  while ((await database.query(blocked)).length === 0) await Bun.sleep(20)
}
