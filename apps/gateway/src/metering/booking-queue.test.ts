import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { createKey } from '../keys/key-store.ts'
import { noLimits } from '../keys/limits.ts'
import type { Database } from '../state/database.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import { newId } from '../testing/test-gateway.ts'
import { BookingQueue } from './booking-queue.ts'
import type { UsageRecord } from './usage-record.ts'

let database: Database
let keyId: string
let statements = 0
let queue: BookingQueue

beforeAll(async () => {
  database = await openTestDatabase()
  const wish = { accountId: 'acct_default', name: 'test', expiresAt: null, createdBy: null }
  keyId = (await createKey(database, { ...wish, limits: noLimits })).key.id
})

afterAll(() => database.close())

beforeEach(() => {
  statements = 0
  queue = new BookingQueue({
    ...database,
    query(sql, values) {
      statements++
      return database.query(sql, values)
    },
  })
})

/** A database whose first statements get no answer until it is released. */
function stalled(mute: number) {
  const released = Promise.withResolvers<void>()
  let asked = 0
  const slow = new BookingQueue(
    {
      ...database,
      async query(sql, values) {
        asked++
        if (asked <= mute) await released.promise
        return database.query(sql, values)
      },
    },
    50,
  )
  return { slow, release: released.resolve, asked: () => asked }
}

const record = (changes: Partial<UsageRecord> = {}): UsageRecord => ({
  ...{ admissionId: newId(), requestId: newId(), workerId: 'w_one', keyId, model: 'm' },
  ...{ path: '/v1/chat/completions', status: 200, outcome: 'complete' as const },
  ...{ promptTokens: 10, cachedTokens: 0, completionTokens: 5 },
  ...{ startedAtMs: Date.now(), durationMs: 10, ...changes },
})

const storedOf = async (records: readonly UsageRecord[]) => {
  const ids = JSON.stringify(records.map(({ admissionId }) => admissionId))
  const sql = `select count(*) as stored from usage
    where admission_id in (select jsonb_array_elements_text($1::jsonb)::uuid)`
  return (await database.query<{ stored: number }>(sql, [ids]))[0]?.stored
}

test('a report is stored when it is acknowledged, with one statement', async () => {
  const records = [record(), record()]
  expect(await queue.book(records)).toBe(0)
  expect(await storedOf(records)).toBe(2)
  expect(statements).toBe(1)
})

test('reports that arrive while one is being written are stored together', async () => {
  const reports = Array.from({ length: 20 }, () => [record(), record()])
  expect(await Promise.all(reports.map((report) => queue.book(report)))).toEqual(
    reports.map(() => 0),
  )
  expect(await storedOf(reports.flat())).toBe(40)
  expect(statements).toBe(2)
})

test('more than a batch holds is stored in several', async () => {
  const reports = Array.from({ length: 4 }, () => Array.from({ length: 250 }, () => record()))
  await Promise.all(reports.map((report) => queue.book(report)))
  expect(await storedOf(reports.flat())).toBe(1000)
  expect(statements).toBe(3)
})

test('a report that cannot be stored does not fail others', async () => {
  const before = queue.book([record()])
  const good = [record()]
  const bad = [record({ cachedTokens: 11 })] // more than the prompt: the table refuses that
  const answers = await Promise.allSettled([before, queue.book(good), queue.book(bad)])
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
  expect(await storedOf(good)).toBe(1)
  expect(await storedOf(bad)).toBe(0)
})

test('an unknown key counts for the report that has it', async () => {
  const before = queue.book([record()])
  const [first, second] = [[record()], [record(), record({ keyId: 'key_gone' })]]
  expect(await Promise.all([before, queue.book(first), queue.book(second)])).toEqual([0, 0, 1])
  expect(await storedOf([...first, ...second])).toBe(2)
  const sums = await database.query(
    'select sum(requests) as requests from usage_hourly where key_id = $1',
    [keyId],
  )
  const rows = await database.query('select count(*) as requests from usage where key_id = $1', [
    keyId,
  ])
  expect(sums).toEqual(rows)
})

test('a batch that the database does not answer delays the others only briefly', async () => {
  const { slow, release } = stalled(1)
  const [first, second, third] = [[record()], [record()], [record()]]
  let isFirstBooked = false
  const booking = slow.book(first).finally(() => {
    isFirstBooked = true
  })
  expect(await slow.book(second)).toBe(0)
  expect(await slow.book([...third, ...first])).toBe(0) // its worker has sent it again
  expect(isFirstBooked).toBe(false)
  expect(await storedOf([...first, ...second, ...third])).toBe(3)
  release()
  expect(await booking).toBe(0)
  expect(await storedOf(first)).toBe(1)
})

test('a database that answers nothing gets a few batches, and all are booked in the end', async () => {
  const { slow, release, asked } = stalled(Number.POSITIVE_INFINITY)
  const reports = Array.from({ length: 8 }, () => [record()])
  const bookings: Promise<number>[] = []
  for (const report of reports) {
    bookings.push(slow.book(report))
    await Bun.sleep(100)
  }
  expect(asked()).toBe(4)
  release()
  expect(await Promise.all(bookings)).toEqual(reports.map(() => 0))
  expect(await storedOf(reports.flat())).toBe(8)
})
