/** Limits per minute after the database's clock was set back, on both kinds of database. */
import { expect, test } from 'bun:test'
import { unlessMissing } from '@privatemode/service/testing'
import { missingPostgres, startPostgres } from '../../testing/postgres-server.ts'
import { openTestDatabase } from '../../testing/test-database.ts'
import type { Database, Row } from '../database.ts'
import { openDatabase } from '../open-database.ts'

const limit = 10

type Taken = Row & { granted: number; used: number; slot: number }

async function take(database: Database, subject: string): Promise<Taken | undefined> {
  const sql = `select granted, used, slot from take_allowance($1, 'tokens', ${limit}, ${limit}, 1)`
  return (await database.query<Taken>(sql, [subject]))[0]
}

const adjust = (database: Database, subject: string, slot: number | null, amount: number) =>
  database.query(`select adjust_allowance($1, 'tokens', $2, $3)`, [subject, slot, amount])

/** As if the whole limit had been given out while the clock was ahead. */
async function takeAhead(database: Database, subject: string, slots: number): Promise<number> {
  await take(database, subject)
  const [row] = await database.query<{ head: number } & Row>(
    `update allowances set head = head + $2 where subject = $1 returning head`,
    [subject, slots],
  )
  return row?.head ?? 0
}

async function checkClockSetBack(database: Database): Promise<void> {
  const hour = 7_200
  const ahead = await takeAhead(database, 'key_taking', hour)
  const taken = await take(database, 'key_taking')
  expect(taken).toMatchObject({ granted: limit, used: limit })
  expect(taken?.slot).toBeLessThan(ahead)
  expect(await take(database, 'key_taking')).toMatchObject({ granted: 0 })
  // What was taken before is not given back to the new ring, where another slot has its position.
  await adjust(database, 'key_taking', (taken?.slot ?? 0) + 121, -limit)
  expect(await take(database, 'key_taking')).toMatchObject({ granted: 0, used: limit })

  await takeAhead(database, 'key_charged', hour)
  await adjust(database, 'key_charged', null, 4)
  expect(await take(database, 'key_charged')).toMatchObject({ granted: limit - 4, used: limit })

  // A clock that is back by less catches up soon: until then, limits hold.
  await takeAhead(database, 'key_close', 60)
  expect(await take(database, 'key_close')).toMatchObject({ granted: 0, used: limit })
}

test('a limit per minute starts anew on the embedded database', async () => {
  const database = await openTestDatabase()
  await checkClockSetBack(database)
  await database.close()
})

const noPostgres = missingPostgres()

unlessMissing(noPostgres).test('a limit per minute starts anew on PostgreSQL', async () => {
  const postgres = await startPostgres()
  const database = await openDatabase({ kind: 'server', url: postgres.url, connections: 1 })
  await checkClockSetBack(database)
  await database.close()
  await postgres.stop()
})
