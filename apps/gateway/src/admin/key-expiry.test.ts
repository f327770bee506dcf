/** Expiry of a member's key, against the clock and against an admin who changes it meanwhile. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { unlessMissing } from '@privatemode/service/testing'
import { changeKey, createKey, findKey, rotateKey } from '../keys/key-store.ts'
import { noLimits } from '../keys/limits.ts'
import { createMember, type Member } from '../members/member-store.ts'
import { beginSession, csrfTokenOf } from '../members/session-store.ts'
import type { Database } from '../state/database.ts'
import { openDatabase } from '../state/open-database.ts'
import { missingPostgres, startPostgres } from '../testing/postgres-server.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import type { AdminParts } from './admin-route.ts'
import { answerAdmin } from './admin-router.ts'
import { CallsAtOnce } from './calls-at-once.ts'
import { formatSessionCookie } from './session-cookie.ts'

const publicUrl = 'http://gateway.test'
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)

type World = {
  readonly database: Database
  readonly keyId: string
  /** Changes the key's expiry as the member who created it; the error, or undefined. */
  change(expiresAt: Date): Promise<unknown>
}

async function startWorld(database: Database): Promise<World> {
  const wish = { accountId: 'acct_default', name: 'm', role: 'member', passwordHash: null } as const
  const member = await createMember(database, { ...wish, email: 'm@example.org' })
  const { token } = await beginSession(database, member)
  const keyId = await createMemberKey(database, member)
  const atOnce = new CallsAtOnce(16)
  const forgetKeys = () => undefined
  const parts = { database, publicUrl, atOnce, forgetKeys } as unknown as AdminParts
  const headers = {
    cookie: formatSessionCookie(token, publicUrl),
    ...{ origin: publicUrl, 'x-csrf-token': csrfTokenOf(token) },
  }
  return {
    database,
    keyId,
    change(expiresAt) {
      const body = JSON.stringify({ expires_at: expiresAt.toISOString() })
      const path = `/keys/${keyId}`
      const url = `${publicUrl}/privatemode/v1/admin${path}`
      const request = new Request(url, { method: 'PATCH', headers, body })
      return answerAdmin(request, path, '127.0.0.1', parts, () => {}).then(
        () => undefined,
        (error: unknown) => error,
      )
    },
  }
}

async function createMemberKey(database: Database, { id }: Member): Promise<string> {
  const wish = { accountId: 'acct_default', name: 'k', limits: noLimits, createdBy: id }
  return (await createKey(database, { ...wish, expiresAt: inDays(1) })).key.id
}

const refused = { code: 'permission_denied', param: 'expires_at' }

let world: World
beforeAll(async () => {
  world = await startWorld(await openTestDatabase())
})
afterAll(() => world.database.close())

test("a member's key lasts no longer than the account allows, however often its expiry changes", async () => {
  const { database, keyId, change } = world
  await database.query('update accounts set member_key_days = 30')
  await database.query(`update api_keys set created_at = now() - interval '20 days'`)
  expect(await change(inDays(9))).toBeUndefined()
  expect(await change(inDays(29))).toMatchObject(refused)
  // A new secret is as good as a new key.
  await rotateKey(database, keyId, 0)
  expect(await change(inDays(29))).toBeUndefined()
  await database.query('update accounts set member_key_days = null')
})

const noPostgres = missingPostgres()

unlessMissing(noPostgres).test(
  "an admin's expiry holds that is set while the member's change is under way",
  async () => {
    const postgres = await startPostgres()
    const database = await openDatabase({ kind: 'server', url: postgres.url, connections: 3 })
    const { keyId, change } = await startWorld(database)
    const changed = Promise.withResolvers<void>()
    const commit = Promise.withResolvers<void>()
    const end = inDays(2)
    const byAdmin = database.transaction(async (queries) => {
      await changeKey(queries, keyId, { expiresAt: end, isExpiryFixed: true })
      changed.resolve()
      await commit.promise
    })
    await changed.promise
    const byMember = change(inDays(90))
    const blocked = `select 1 from pg_stat_activity where wait_event_type = 'Lock'`
    while ((await database.query(blocked)).length === 0) await Bun.sleep(20)
    commit.resolve()
    await byAdmin
    expect(await byMember).toMatchObject(refused)
    expect((await findKey(database, keyId)).expiresAt).toEqual(end)
    await database.close()
    await postgres.stop()
  },
  120_000,
)
