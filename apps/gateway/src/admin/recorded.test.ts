import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createMember } from '../members/member-store.ts'
import { beginSession } from '../members/session-store.ts'
import type { Database } from '../state/database.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import type { AdminParts } from './admin-route.ts'
import { recorded } from './recorded.ts'

let database: Database
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())

test("a member's changes per day are bounded, so that the audit log cannot be flooded", async () => {
  const member = await createMember(database, {
    ...{ accountId: 'acct_default', email: 'busy@example.org', name: 'Busy', role: 'member' },
    passwordHash: null,
  })
  const session = await beginSession(database, member)
  const call = {
    parts: { database } as AdminParts,
    actor: { kind: 'member', session },
    address: '192.0.2.1',
  } as const
  const change = () =>
    recorded(call, 'key.changed', async () => ({
      ...{ value: 'changed', about: { accountId: 'acct_default', id: null, name: 'x' } },
    })).catch((error: { code: string }) => error.code)
  expect(await change()).toBe('changed')
  await database.query(
    `insert into audit_events (action, subject_name, address, actor_id)
     select 'key.changed', 'x', '192.0.2.1', $1 from generate_series(1, 1999)`,
    [member.id],
  )
  expect(await change()).toBe('rate_limit_exceeded')
  await database.query(`update audit_events set at = now() - interval '25 hours'`)
  expect(await change()).toBe('changed')
})
