import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { createLog, Secret } from '@privatemode/service'
import { rejection } from '../../../../test/rejection.ts'
import { setDomains } from '../accounts/email-domains.ts'
import type { Database } from '../state/database.ts'
import { type IdentityProvider, identityProvider } from '../testing/identity-provider.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import { changeMember, createMember, type Member } from './member-store.ts'
import { type OidcSignIn, oidcSignIn } from './oidc.ts'

let database: Database
let provider: IdentityProvider
let oidc: OidcSignIn
let member: Member

beforeAll(async () => {
  database = await openTestDatabase()
  provider = await identityProvider()
  oidc = oidcSignIn(
    {
      issuer: provider.issuer,
      clientId: 'gateway',
      clientSecret: new Secret('secret'),
      publicUrl: 'http://127.0.0.1:8090',
    },
    createLog({ format: 'json', level: 8, write: () => undefined }),
  )
  const base = {
    accountId: 'acct_default',
    name: 'One',
    role: 'member',
    passwordHash: null,
  } as const
  member = await createMember(database, { ...base, email: 'one@example.org' })
})

beforeEach(() => {
  provider.lie = 'none'
  provider.person = { sub: 'subject-1', email: 'One@example.org', email_verified: true }
})

afterAll(async () => {
  await provider.stop()
  await database.close()
})

type Back = { readonly url: URL; readonly state: string }

/** Goes to the provider and back, as a browser does. */
async function callback(): Promise<Back> {
  const { url, state } = await oidc.begin(database, '192.0.2.1')
  const there = await fetch(url, { redirect: 'manual' })
  return { url: new URL(there.headers.get('location') ?? ''), state }
}
const finish = ({ url, state }: Back) => oidc.finish(database, url, state)

test('an invited person is found first by verified address, later by subject', async () => {
  expect(await finish(await callback())).toBe(member.id)
  provider.person = { sub: 'subject-1', email: 'new-address@example.org', email_verified: true }
  expect(await finish(await callback())).toBe(member.id)
})

test('an unverified or unknown address is refused', async () => {
  const base = {
    accountId: 'acct_default',
    name: 'Two',
    role: 'member',
    passwordHash: null,
  } as const
  await createMember(database, { ...base, email: 'two@example.org' })
  provider.person = { sub: 'subject-2', email: 'two@example.org', email_verified: false }
  expect(await rejection(finish(await callback()))).toMatchObject({ status: 401 })
  provider.person = { sub: 'subject-3', email: 'stranger@example.org', email_verified: true }
  expect(await rejection(finish(await callback()))).toMatchObject({ status: 401 })
})

test('an address that can pass for another is refused', async () => {
  const email = 'thr\u200bee@example.org'
  const base = {
    accountId: 'acct_default',
    name: 'Three',
    role: 'member',
    passwordHash: null,
  } as const
  await createMember(database, { ...base, email })
  provider.person = { sub: 'subject-4', email, email_verified: true }
  expect(await rejection(finish(await callback()))).toMatchObject({ status: 401 })
})

test('another subject cannot take over a bound address', async () => {
  await finish(await callback())
  provider.person = { sub: 'subject-9', email: 'one@example.org', email_verified: true }
  expect(await rejection(finish(await callback()))).toMatchObject({ status: 401 })
})

test('an answer works once, and only for a sign-in that was begun here', async () => {
  const back = await callback()
  await finish(back)
  expect(await rejection(finish(back))).toMatchObject({ failure: 'not_begun' })
  const forged = await callback()
  forged.url.searchParams.set('state', 'made-up')
  const made = finish({ ...forged, state: 'made-up' })
  expect(await rejection(made)).toMatchObject({ failure: 'not_begun', status: 401 })
})

test('an answer works only in the browser that started the sign-in', async () => {
  const { url, state } = await callback()
  for (const other of [undefined, '', (await callback()).state]) {
    const brought = oidc.finish(database, url, other)
    expect(await rejection(brought)).toMatchObject({ failure: 'not_begun', status: 401 })
  }
  // An answer brought to the wrong browser is not used up.
  expect(await finish({ url, state })).toBe(member.id)
})

test('tokens with a wrong nonce, issuer, audience, signature or time are refused', async () => {
  for (const lie of ['nonce', 'issuer', 'audience', 'signature', 'expired'] as const) {
    provider.lie = lie
    expect(await rejection(finish(await callback()))).toMatchObject({ status: 401 })
  }
})

test('a token without a subject is refused', async () => {
  for (const sub of [undefined, null, 7, { toString: 'subject-1' }]) {
    provider.person = { sub, email: 'one@example.org', email_verified: true }
    expect(await rejection(finish(await callback()))).toMatchObject({ failure: 'not_confirmed' })
  }
})

test('a member of a disabled account stays out', async () => {
  const disable = (at: string) =>
    database.query(`update accounts set disabled_at = ${at} where id = 'acct_default'`)
  await disable('now()')
  for (const sub of ['subject-1', 'subject-new']) {
    provider.person = { sub, email: 'two@example.org', email_verified: true }
    expect(await rejection(finish(await callback()))).toMatchObject({ failure: 'not_member' })
  }
  await disable('null')
})

test('a disabled member stays out', async () => {
  await finish(await callback())
  await changeMember(database, member.id, { disabled: true })
  expect(await rejection(finish(await callback()))).toMatchObject({ status: 401 })
})

test('an identity is never bound to a member that another organization created under its address', async () => {
  const email = 'ceo@victim.example'
  const make = async (accountId: string) => {
    await database.query('insert into accounts (id, name) values ($1, $1) on conflict do nothing', [
      accountId,
    ])
    const wish = { accountId, email, name: 'CEO', role: 'member', passwordHash: null } as const
    return (await createMember(database, wish)).id
  }
  await make('acct_squatter')
  provider.person = { sub: 'ceo', email, email_verified: true }
  expect(await rejection(finish(await callback()))).toMatchObject({ failure: 'not_member' })
  const own = await make('acct_victim')
  expect(await rejection(finish(await callback()))).toMatchObject({ failure: 'not_member' })
  await setDomains(database, 'acct_victim', ['victim.example'])
  expect(await finish(await callback())).toBe(own)
})

test("a network's pending sign-ins are bounded: the oldest is dropped", async () => {
  const count = async () => {
    const [row] = await database.query<{ count: number }>(
      `select count(*) as count from oidc_requests where network = '192.0.2.9'`,
    )
    return row?.count
  }
  await database.query(
    `insert into oidc_requests (state_hash, nonce, code_verifier, network, expires_at)
     select decode(lpad(to_hex(n), 64, '0'), 'hex'), '', '', '192.0.2.9', now() + interval '1 hour'
     from generate_series(1, 60) as n`,
  )
  await oidc.begin(database, '192.0.2.9')
  expect(await count()).toBe(50)
  await database.query(`delete from oidc_requests where network = '192.0.2.9'`)
})

test('pending sign-ins of all networks together are bounded', async () => {
  await database.query(
    `insert into oidc_requests (state_hash, nonce, code_verifier, network, expires_at)
     select decode(lpad(to_hex(n), 64, '0'), 'hex'), '', '', 'n' || n, now() + interval '1 hour'
     from generate_series(1, 5000) as n`,
  )
  const refused = await rejection(oidc.begin(database, '192.0.2.10'))
  expect(refused).toMatchObject({ code: 'overloaded', retryAfterSeconds: 5 })
  await database.query(`delete from oidc_requests where network like 'n%'`)
  await oidc.begin(database, '192.0.2.10')
})
