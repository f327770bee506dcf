/** An organization's e-mail addresses are out of reach for others. */
import { afterAll, expect, test } from 'bun:test'
import { password, startAdminWorld, tokenIn } from '../testing/admin-world.ts'
import type { Browser } from '../testing/browser.ts'

const world = await startAdminWorld()
const { gateway, admin, member, outsider, otherAccount, newBrowser, operate } = world
afterAll(() => gateway.stop())

const invite = async (browser: Browser, email?: string) =>
  browser.request('POST', 'invitations', { role: 'member', email: email ?? null })
const accept = async (browser: Browser, email: string, secret = password) => {
  const { url } = (await (await invite(browser)).json()) as { url: string }
  const body = { token: tokenIn(url), email, password: secret }
  return newBrowser().request('POST', 'invitations/accept', body)
}
const setDomains = (id: string, email_domains: string[]) =>
  operate('PATCH', `admin/accounts/${id}`, { email_domains })

test('an address used by another account is still available, and each signs in with its own password', async () => {
  const email = 'ceo@victim.example'
  const theirs = 'the password of a squatter'
  expect((await accept(outsider, email, theirs)).status).toBe(200)
  expect((await accept(admin, email)).status).toBe(200)
  expect((await accept(admin, email.toUpperCase())).status).toBe(409)
  const signsIn = async (secret: string) =>
    (await newBrowser().json('POST', 'session', { email, password: secret })).member
  expect(await signsIn(password)).toMatchObject({ account_id: 'acct_default' })
  expect(await signsIn(theirs)).toMatchObject({ account_id: otherAccount })
}, 120_000)

test("addresses in an account's domain are reserved for that account, however they are spelt", async () => {
  await setDomains('acct_default', ['acme.example', 'bücher.example'])
  for (const email of ['a@acme.example', 'a@ACME.example', 'a@xn--bcher-kva.example']) {
    expect([email, (await invite(outsider, email)).status]).toEqual([email, 403])
    expect([email, (await accept(outsider, email)).status]).toEqual([email, 403])
    expect([email, (await invite(admin, email)).status]).toEqual([email, 201])
  }
})

test('only operators assign domains, and a domain belongs to one account', async () => {
  const wish = { email_domains: ['acme.example'] }
  expect((await outsider.request('PATCH', `accounts/${otherAccount}`, wish)).status).toBe(403)
  expect((await member.request('PATCH', 'accounts/acct_default', wish)).status).toBe(403)
  const taken = await gateway.operate('PATCH', `admin/accounts/${otherAccount}`, wish)
  expect(taken.status).toBe(409)
  for (const odd of [['a b'], ['a@b.example'], ['https://x'], [''], 'x.example', [7]]) {
    const body = { email_domains: odd }
    const refused = await gateway.operate('PATCH', `admin/accounts/${otherAccount}`, body)
    expect([odd, refused.status]).toEqual([odd, 400])
  }
  expect(await setDomains('acct_default', [])).toMatchObject({ email_domains: [] })
  expect(await setDomains(otherAccount, ['acme.example'])).toMatchObject(wish)
})
