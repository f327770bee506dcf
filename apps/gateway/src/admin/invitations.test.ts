/** Invitations belong to their creator: they end with that admin's rights, and can be revoked. */
import { afterAll, expect, test } from 'bun:test'
import { password, startAdminWorld, tokenIn } from '../testing/admin-world.ts'
import type { Browser } from '../testing/browser.ts'

const world = await startAdminWorld()
const { gateway, admin, member, outsider, otherAccount, newBrowser, operate, join } = world
afterAll(() => gateway.stop())

const accept = (url: unknown, email: string) =>
  newBrowser().request('POST', 'invitations/accept', { token: tokenIn(url), email, password })
const idOf = async (browser: Browser) => (await browser.json('GET', 'session')).member?.id
const openIds = async (browser: Browser) => {
  const { invitations } = await browser.json('GET', 'invitations')
  return (invitations as { id: string }[]).map(({ id }) => id)
}

test.each([
  ['disabled', { disabled: true }, { disabled: false }],
  ['demoted', { role: 'member' }, { role: 'admin' }],
])(
  'an admin who is %s cannot return through an invitation, not even with the old rights',
  async (how, taken, back) => {
    const email = `${how}@example.org`
    const leaving = await join({ role: 'admin' }, email)
    const id = await idOf(leaving)
    const { member: victim } = await member.json('GET', 'session')
    const invitation = await leaving.json('POST', 'invitations', { role: 'admin' }, 201)
    const reset = await leaving.json('POST', `members/${victim?.id}/reset`, undefined, 201)
    await admin.json('PATCH', `members/${id}`, taken)
    expect((await accept(invitation.url, `again-${email}`)).status).toBe(403)
    expect((await accept(reset.url, '')).status).toBe(400)
    const taken_over = { token: tokenIn(reset.url), password: 'taken over by somebody' }
    expect((await newBrowser().request('POST', 'invitations/accept', taken_over)).status).toBe(403)
    expect(await openIds(admin)).not.toContain(String(invitation.id))
    await admin.json('PATCH', `members/${id}`, back)
    expect((await accept(invitation.url, `again-${email}`)).status).toBe(403)
  },
)

test("an account's invitations end when it is disabled, wherever they lead", async () => {
  const account = await operate('POST', 'admin/accounts', { name: 'Ending' })
  const boss = await join({ role: 'admin', account_id: account.id }, 'boss@ending.example')
  const { url } = await boss.json('POST', 'invitations', { role: 'member' }, 201)
  await operate('PATCH', `admin/accounts/${account.id}`, { disabled: true })
  await operate('PATCH', `admin/accounts/${account.id}`, { disabled: false })
  expect((await accept(url, 'late@ending.example')).status).toBe(403)
})

test('open invitations are listed with their creator and without their token, and revoked', async () => {
  const made = await admin.json(
    'POST',
    'invitations',
    { role: 'member', email: 'x@example.org' },
    201,
  )
  const { invitations } = await admin.json('GET', 'invitations?account=acct_default')
  const listed = (invitations as Record<string, unknown>[]).find(({ id }) => id === made.id)
  expect(listed).toMatchObject({
    ...{ role: 'member', email: 'x@example.org', created_by: await idOf(admin) },
  })
  expect(JSON.stringify(invitations)).not.toContain(String(tokenIn(made.url)))
  await admin.json('DELETE', `invitations/${made.id}`)
  expect((await accept(made.url, 'x@example.org')).status).toBe(403)
  expect((await admin.request('DELETE', `invitations/${made.id}`)).status).toBe(404)
  expect(await openIds(admin)).not.toContain(String(made.id))
})

test('invitations of others are neither seen nor revoked', async () => {
  const made = await admin.json('POST', 'invitations', { role: 'member' }, 201)
  expect((await member.request('GET', 'invitations')).status).toBe(403)
  expect((await member.request('DELETE', `invitations/${made.id}`)).status).toBe(404)
  expect((await outsider.request('GET', 'invitations?account=acct_default')).status).toBe(404)
  expect((await outsider.request('DELETE', `invitations/${made.id}`)).status).toBe(404)
  expect(await openIds(outsider)).toEqual([])
  const theirs = await outsider.json('POST', 'invitations', { role: 'member' }, 201)
  expect(await openIds(outsider)).toEqual([String(theirs.id)])
  await admin.json('DELETE', `invitations/${theirs.id}`) // admin operates the deployment
})

test("an account does not learn which of the operator's staff invited, or made a key", async () => {
  const staffId = String(await idOf(admin))
  const asked = { role: 'member', account_id: otherAccount }
  const open = await admin.json('POST', 'invitations', asked, 201)
  const { url } = await admin.json('POST', 'invitations', asked, 201)
  expect((await accept(url, 'invited@other.example')).status).toBe(200)
  const key = { name: 'made for them', account_id: otherAccount }
  const { id: keyId } = await admin.json('POST', 'keys', key, 201)
  for (const path of ['invitations', 'keys', 'audit', `keys/${keyId}`]) {
    const seen = JSON.stringify(await outsider.json('GET', path))
    expect(seen).not.toContain(staffId)
    if (path === 'invitations') expect(seen).toContain(String(open.id))
    if (path === 'audit') expect(seen).toContain('"invited_by":"operator"')
  }
  await admin.json('DELETE', `invitations/${open.id}`)
  expect((await accept(open.url, 'late@other.example')).status).toBe(403)
})
