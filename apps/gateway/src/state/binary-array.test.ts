import { afterAll, beforeAll, expect, test } from 'bun:test'
import { unlessMissing } from '@privatemode/service/testing'
import { missingPostgres, type PostgresServer, startPostgres } from '../testing/postgres-server.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import { integerArray, smallintArray, textArray, timeArray, uuidArray } from './binary-array.ts'
import type { Database } from './database.ts'
import { openServerDatabase } from './server-database.ts'

const noPostgres = missingPostgres()
let embedded: Database
let postgres: PostgresServer | undefined
let server: Database | undefined

beforeAll(async () => {
  embedded = await openTestDatabase()
  if (noPostgres !== undefined) return
  postgres = await startPostgres()
  server = await openServerDatabase(postgres.url, 1)
})

afterAll(async () => {
  await embedded.close()
  await server?.close()
  await postgres?.stop()
})

const id = '0123456789abcdef0123456789abcdef'
const atMs = Date.UTC(2026, 10, 17, 6, 5, 4, 321)
const texts = ['', 'a "quoted" {text}, and ünïcödé', 'null']

/** Both databases read what was written: numbers of either sign, before and after 2000, any text. */
async function expectRead(database: Database): Promise<void> {
  const sql = `select array_agg(a order by n) as ids, array_agg(b order by n) as times,
      array_agg(c order by n) as texts, array_agg(d order by n) as small, array_agg(e order by n) as whole
    from unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::smallint[], $5::integer[])
      with ordinality as r(a, b, c, d, e, n)`
  const [row] = await database.query(sql, [
    uuidArray([id, '0'.repeat(32), 'f'.repeat(32)]),
    timeArray([atMs, 0, -1]),
    textArray(texts),
    smallintArray([0, -32_768, 32_767]),
    integerArray([0, -2_147_483_648, 2_147_483_647]),
  ])
  expect(row).toEqual({
    ids: [
      '01234567-89ab-cdef-0123-456789abcdef',
      '00000000-0000-0000-0000-000000000000',
      'ffffffff-ffff-ffff-ffff-ffffffffffff',
    ],
    times: [new Date(atMs), new Date(0), new Date(-1)],
    texts,
    small: [0, -32_768, 32_767],
    whole: [0, -2_147_483_648, 2_147_483_647],
  })
}

test('the embedded database reads binary arrays', () => expectRead(embedded))

unlessMissing(noPostgres).test('PostgreSQL reads binary arrays', () =>
  expectRead(server as Database),
)

test('values for an array may still be a list', async () => {
  const rows = await embedded.query('select $1::text[] as list', [['a', 'b']])
  expect(rows).toEqual([{ list: ['a', 'b'] }])
})

test('what is not a UUID is refused instead of being stored as another', () => {
  expect(() => uuidArray(['01234567-89ab-cdef-0123-456789abcdef'])).toThrow('not the digits')
})

test('a number that does not fit is refused', () => {
  expect(() => integerArray([2_147_483_648])).toThrow(RangeError)
})
