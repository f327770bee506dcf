/** Usage queries stay fast with any number of rows: each has its own index. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Database } from '../state/database.ts'
import { fillUsage, middleOf } from '../testing/synthetic-usage.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import { planUsage } from '../testing/usage-plans.ts'

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
