import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { Secret } from '@privatemode/service'
import type { OidcSignIn } from '../admin/admin-route.ts'
import type { Database } from '../state/database.ts'
import { type IdentityProvider, identityProvider } from '../testing/identity-provider.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import { changeMember, createMember, type Member } from './member-store.ts'
import { oidcSignIn } from './oidc.ts'

let database: Database
let provider: IdentityProvider
let oidc: OidcSignIn
let member: Member

beforeAll(async () => {
  database = await openTestDatabase()
  provider = await identityProvider()
  oidc = oidcSignIn({
    issuer: provider.issuer,
    clientId: 'gateway',
    clientSecret: new Secret('secret'),
    publicUrl: 'http://127.0.0.1:8090',
  })
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

/** Goes to the provider and comes back, as a browser does. */
async function callback(): Promise<URL> {
  const there = await fetch(await oidc.begin(database), { redirect: 'manual' })
  return new URL(there.headers.get('location') ?? '')
}
const finish = async (url: URL) => oidc.finish(database, url)

test('an invited person is found by verified address first and by subject ever after', async () => {
  expect(await finish(await callback())).toBe(member.id)
  provider.person = { sub: 'subject-1', email: 'new-address@example.org', email_verified: true }
  expect(await finish(await callback())).toBe(member.id)
})

test('an address that is not verified, or is of nobody here, lets nobody in', async () => {
  const base = {
    accountId: 'acct_default',
    name: 'Two',
    role: 'member',
    passwordHash: null,
  } as const
  await createMember(database, { ...base, email: 'two@example.org' })
  provider.person = { sub: 'subject-2', email: 'two@example.org', email_verified: false }
  await expect(finish(await callback())).rejects.toMatchObject({ status: 401 })
  provider.person = { sub: 'subject-3', email: 'stranger@example.org', email_verified: true }
  await expect(finish(await callback())).rejects.toMatchObject({ status: 401 })
})

test('another subject cannot take over an address that is bound already', async () => {
  await finish(await callback())
  provider.person = { sub: 'subject-9', email: 'one@example.org', email_verified: true }
  await expect(finish(await callback())).rejects.toMatchObject({ status: 401 })
})

test('an answer works once, and only for a sign-in that was begun here', async () => {
  const url = await callback()
  await finish(url)
  await expect(finish(url)).rejects.toMatchObject({ status: 401 })
  const forged = await callback()
  forged.searchParams.set('state', 'made-up')
  await expect(finish(forged)).rejects.toMatchObject({ status: 401 })
})

test('tokens with a wrong nonce, issuer, audience, signature or time are refused', async () => {
  for (const lie of ['nonce', 'issuer', 'audience', 'signature', 'expired'] as const) {
    provider.lie = lie
    await expect(finish(await callback())).rejects.toMatchObject({ status: 401 })
  }
})

test('a disabled member stays out', async () => {
  await finish(await callback())
  await changeMember(database, member.id, { disabled: true })
  await expect(finish(await callback())).rejects.toMatchObject({ status: 401 })
})
