/** Usage queries stay fast with any number of rows: each has its own index. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Database } from '../state/database.ts'
import { fillUsage, middleOf, syntheticKey } from '../testing/synthetic-usage.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import { planUsage } from '../testing/usage-plans.ts'
import type { UsageRecord } from './usage-record.ts'
import { storeUsage } from './usage-store.ts'

const wanted = { requests: 20_000, rows: 4_000, days: 2 }
const plan = () => planUsage(database, new Date(), middleOf(wanted, new Date()))
let database: Database

beforeAll(async () => {
  database = await openTestDatabase()
  await fillUsage(database, wanted)
  // A table this small is always scanned; this tests the plan for a large one.
  await database.script('set enable_seqscan = off; set enable_bitmapscan = off')
}, 150_000)

afterAll(() => database.close())

test('every query about usage uses its index and reads no whole table', async () => {
  const plans = await plan()
  expect(plans).toHaveLength(14)
  for (const { name, index, lines } of plans) {
    const text = lines.join('\n')
    expect([name, text]).toEqual([
      name,
      expect.stringMatching(new RegExp(`using ${index.source} on `)),
    ])
    expect([name, text]).toEqual([name, expect.not.stringMatching(/Seq Scan on usage/)])
    if (!name.startsWith('list')) continue
    // Sorting or filtering the rows of a page would cost more than the page shows.
    expect([name, text]).toEqual([name, expect.not.stringMatching(/\bSort\b|^\s*Filter:/m)])
  }
})

test('the sums of hours come from the hourly table alone', async () => {
  const plans = await plan()
  for (const { name, lines } of plans.filter((each) => /^(portal|admin)/.test(each.name))) {
    expect([name, lines.join('\n')]).toEqual([name, expect.not.stringMatching(/ on usage\b/)])
  }
})

test('booking finds rows by index, whatever the planner knew when it was first planned', async () => {
  await database.script('set enable_seqscan = on')
  const scans = async () => {
    await database.query('select pg_stat_force_next_flush()')
    const [row] = await database.query<{ scans: number }>(
      `select seq_scan as scans from pg_stat_user_tables where relname = 'usage'`,
    )
    return row?.scans
  }
  const before = await scans()
  expect(before).toBeNumber()
  const lost = record({ outcome: 'lost', completionTokens: 0 })
  expect(await storeUsage(database, [lost, record({})])).toEqual({ stored: 2, unknown: 0 })
  // The second report replaces the first, which takes every statement of a batch.
  expect(
    await storeUsage(database, [{ ...lost, outcome: 'complete', completionTokens: 5 }]),
  ).toEqual({ stored: 1, unknown: 0 })
  expect(await scans()).toBe(before)
  await database.script('set enable_seqscan = off')
})

function record(fields: Partial<UsageRecord>): UsageRecord {
  return {
    admissionId: Bun.randomUUIDv7().replaceAll('-', ''),
    requestId: '0'.repeat(32),
    workerId: 'w_0',
    keyId: syntheticKey,
    model: 'model-1',
    path: '/v1/chat/completions',
    status: 200,
    outcome: 'complete',
    promptTokens: 1,
    cachedTokens: 0,
    completionTokens: 1,
    startedAtMs: Date.now(),
    durationMs: 1,
    ...fields,
  }
}
