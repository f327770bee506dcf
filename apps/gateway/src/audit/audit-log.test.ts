/** What the audit log keeps, and for how long. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Database } from '../state/database.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import { listEvents, operatorActor, pruneEvents, recordEvent, recordStranger } from './audit-log.ts'

let database: Database
const all = { accountId: undefined, from: undefined, to: undefined }
const who = { actor: operatorActor, address: '192.0.2.1' }
const subject = { accountId: null, id: null, name: 'someone' }

beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())
beforeEach(() => database.query('delete from audit_events'))

const kept = async () =>
  (await listEvents(database, all, undefined, 100)).map(({ action }) => action)

test('entries are removed after 400 days', async () => {
  await recordEvent(database, 'key.created', who, subject)
  await database.query(`update audit_events set at = now() - interval '401 days'`)
  await recordEvent(database, 'key.revoked', who, subject)
  await pruneEvents(database)
  expect(await kept()).toEqual(['key.revoked'])
})

test('unauthenticated floods push out only unauthenticated entries, never those of admins', async () => {
  await recordEvent(database, 'key.created', who, subject)
  await database.query(
    `insert into audit_events (action, subject_name, address)
     select 'sign_in.failed', n || '@example.org', '192.0.2.2' from generate_series(1, 10050) as n`,
  )
  await pruneEvents(database)
  const rows = await database.query<{ actor_id: string | null; count: number; first: string }>(
    `select actor_id, count(*) as count, min(id) as first from audit_events group by actor_id`,
  )
  expect(rows.toSorted((a, b) => a.count - b.count)).toMatchObject([
    { actor_id: 'operator', count: 1 },
    { actor_id: null, count: 10_000 },
  ])
})

test('repeated unauthenticated events are counted by name and address', async () => {
  const fail = (address: string, name: string) =>
    recordStranger(database, 'sign_in.failed', address, { ...subject, name })
  for (let tries = 0; tries < 3; tries++) await fail('192.0.2.1', 'a@example.org')
  await fail('192.0.2.2', 'a@example.org')
  await fail('192.0.2.1', 'b@example.org')
  const events = await listEvents(database, all, undefined, 10)
  expect(events.map(({ times }) => times)).toEqual([1, 1, 3])
})
