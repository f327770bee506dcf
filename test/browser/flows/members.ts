/** Members and roles: what an admin may and a member may not do, enforced by the gateway. */
import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { callAdmin } from '../page-scripts.ts'
import {
  type Flow,
  open,
  admin as owner,
  type PortalWorld,
  signIn,
  type Visitor,
} from '../portal-world.ts'

type Person = { readonly name: string; readonly email: string; readonly password: string }

const password = 'a long enough password'
const max: Person = { name: 'Max Member', email: 'max@example.com', password }
const mia: Person = { name: 'Mia Member', email: 'mia@example.com', password }

export function memberFlow({ world, admin }: Flow): void {
  let person = max
  let member: Visitor | undefined
  /** Max at the first page of a browser; where his invitation failed, Mia, who was invited behind the page. */
  const atStart = async (): Promise<Page> => {
    if (member === undefined) {
      person = mia
      const asked = { body: { email: mia.email, role: 'member' } }
      const { body } = await callAdmin(admin().page, 'POST', '/invitations', asked)
      const { url } = body as { url: string }
      member = await join(world(), `${url}&email=${encodeURIComponent(mia.email)}`, mia)
    }
    await member.page.goto('/')
    await member.page.getByRole('heading', { name: 'Quick start' }).waitFor()
    return member.page
  }

  test('an admin invites someone with a link', async () => {
    const { page } = admin()
    await open(page, 'Members')
    await page.getByRole('button', { name: 'Invite' }).click()
    await page.getByRole('dialog').getByLabel('E-mail').fill(person.email)
    await page.getByRole('button', { name: 'Make a link' }).click()
    const link = await readLink(page)
    await page.getByRole('button', { name: 'Done' }).click()
    member = await join(world(), link, person)
  }, 150_000)

  test('an open invitation is listed, can be revoked, and is in the audit log', async () => {
    const { page } = admin()
    const asked = { body: { email: 'later@example.com', role: 'admin' } }
    await callAdmin(page, 'POST', '/invitations', asked)
    await open(page, 'Members')
    const row = page.getByRole('row', { name: 'later@example.com' })
    await row.getByRole('button', { name: 'Revoke' }).click()
    await row.waitFor({ state: 'detached' })
    await open(page, 'Audit log')
    const entry = page.getByRole('row', { name: 'Revoked invitation' }).first()
    await entry.getByText('later@example.com').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export CSV' }).click(),
    ])
    expect(await Bun.file(await download.path()).text()).toContain('invitation.revoked')
  }, 150_000)

  test('an admin limits the keys of members, and an operator sets the domains of the account', async () => {
    const { page } = admin()
    const account = async () => {
      const { body } = await callAdmin(page, 'GET', '/accounts')
      return (body as { accounts: object[] }).accounts[0]
    }
    const fill = async (tokens: string, days: string, domains: string) => {
      await open(page, 'Members')
      await page.getByRole('button', { name: 'Rules for members' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Tokens per month').fill(tokens)
      await dialog.getByLabel('Days that a key lasts').fill(days)
      await dialog.getByLabel('E-mail domains').fill(domains)
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    await fill('1000000', '90', 'rules.example, Other.Example')
    const rules = { member_limits: { tokens_per_month: 1_000_000 }, member_key_days: 90 }
    const email_domains = ['other.example', 'rules.example']
    expect(await account()).toMatchObject({ ...rules, email_domains })
    await fill('', '', '')
    const none = { member_limits: { tokens_per_month: null }, member_key_days: null }
    expect(await account()).toMatchObject({ ...none, email_domains: [] })
  }, 60_000)

  test('draining the only machine asks for two confirmations', async () => {
    const { page } = admin()
    await open(page, 'Models')
    await page.getByRole('button', { name: /^Drain/ }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('No machine remains in service').waitFor()
    await dialog.getByRole('button', { name: 'Drain' }).click() // the box is not checked
    await dialog.getByLabel('Drain it anyway').check()
    await dialog.getByRole('button', { name: 'Drain' }).click()
    await page.getByText('draining', { exact: true }).waitFor()
    await page.getByRole('button', { name: /back into service/ }).click()
    await page.getByText('serving', { exact: true }).waitFor()
  }, 150_000)

  test('a member sees others but cannot change anything of theirs', async () => {
    const page = await atStart()
    await open(page, 'Members')
    await page.getByText('ask an admin').waitFor()
    expect(await page.getByRole('button', { name: 'Invite' }).count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Rules for members' }).count()).toBe(0)
    expect(await page.getByRole('link', { name: 'Audit log' }).count()).toBe(0)
    await open(page, 'API keys')
    await page.getByRole('row', { name: 'first key of this machine' }).waitFor()
    expect(await page.getByRole('button', { name: /^Revoke first key/ }).count()).toBe(0)
  }, 150_000)

  test('the gateway refuses what the page does not offer', async () => {
    const page = await atStart()
    const keys = await callAdmin(page, 'GET', '/keys')
    const foreign = (keys.body as { keys: { id: string; name: string }[] }).keys.find(
      ({ name }) => name === 'first key of this machine',
    )
    const { member: self } = (await callAdmin(page, 'GET', '/session')).body as {
      member: { id: string }
    }
    const limits = { requests_per_minute: 1 }
    const attempts: [string, string, unknown?][] = [
      ['DELETE', `/keys/${foreign?.id}`],
      ['POST', `/keys/${foreign?.id}/rotate`, {}],
      ['POST', '/keys', { name: 'with limits', limits }],
      ['POST', '/invitations', { role: 'admin' }],
      ['PATCH', `/members/${self.id}`, { role: 'admin' }],
      ['GET', '/workers'],
      ['POST', '/accounts', { name: 'mine' }],
    ]
    for (const [method, path, body] of attempts) {
      expect(await callAdmin(page, method, path, { body })).toMatchObject({ status: 403 })
    }
  }, 150_000)

  test('a member manages their own keys', async () => {
    const page = await atStart()
    await open(page, 'API keys')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('of Max')
    expect(await page.getByLabel('Requests per minute').count()).toBe(0)
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('button', { name: 'Revoke of Max' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('row', { name: 'of Max' }).waitFor({ state: 'detached' })
  }, 150_000)

  test('an admin grants the role, and it takes effect at once', async () => {
    const { page } = admin()
    const theirs = await atStart()
    await open(page, 'Members')
    await Promise.all([
      page.waitForResponse((response) => response.request().method() === 'PATCH'),
      page.getByLabel(`Role of ${person.name}`).selectOption('Admin'),
    ])
    await theirs.reload()
    await open(theirs, 'Members')
    await theirs.getByRole('button', { name: 'Invite' }).waitFor()
  }, 150_000)

  test('an admin who becomes a member again keeps the playground', async () => {
    const { page } = admin()
    const theirs = await atStart()
    const { member: self } = (await callAdmin(theirs, 'GET', '/session')).body as {
      member: { id: string }
    }
    const setRole = (role: string) =>
      callAdmin(page, 'PATCH', `/members/${self.id}`, { body: { role } })
    expect(await setRole('admin')).toMatchObject({ status: 200 })
    for (let visits = 0; visits < 2; visits++) {
      await theirs.goto('/playground') // the second visit extends the key, as an admin
      await theirs.getByLabel('Message').waitFor()
    }
    expect(await setRole('member')).toMatchObject({ status: 200 })
    await theirs.goto('/playground')
    await theirs.getByLabel('Message').waitFor()
  }, 150_000)

  test('the next member who signs in on a page gets a playground of their own', async () => {
    const theirs = await atStart()
    await open(theirs, 'Playground')
    await theirs.getByLabel('Message').waitFor()
    await theirs.context().clearCookies()
    await theirs.getByRole('link', { name: 'Usage', exact: true }).click()
    await theirs.getByText('Your session has ended').waitFor()
    await theirs.goBack()
    await theirs.getByLabel('E-mail').fill(owner.email)
    await theirs.getByLabel('Password').fill(owner.password)
    await theirs.getByRole('button', { name: 'Sign in' }).click()
    await theirs.getByRole('heading', { name: 'Playground', level: 1 }).waitFor()
    await theirs.getByText(owner.name).waitFor()
    await theirs.getByLabel('Message').waitFor()
    await theirs.context().clearCookies()
    await signIn(theirs, person)
  }, 150_000)

  test('a disabled member is signed out, and returns with a new password', async () => {
    const { page } = admin()
    const theirs = await atStart()
    await open(page, 'Members')
    await page.getByRole('button', { name: `Disable ${person.name}` }).click()
    await page.getByRole('row', { name: person.email }).getByText('disabled').waitFor()
    await theirs.getByRole('link', { name: 'Usage', exact: true }).click()
    await theirs.getByText('Your session has ended').waitFor()
    await page.getByRole('button', { name: `Enable ${person.name}` }).click()
    await page.getByRole('button', { name: `New password for ${person.name}` }).click()
    const link = await readLink(page)
    await page.getByRole('button', { name: 'Done' }).click()
    await theirs.goto(behindTap(link, world().origin))
    await theirs.getByRole('heading', { name: 'Set a new password' }).waitFor()
    await theirs.getByLabel('Password').fill('an even longer password')
    await theirs.getByRole('button', { name: 'Set password' }).click()
    await theirs.getByRole('heading', { name: 'Quick start' }).waitFor()
    await theirs.context().clearCookies()
    await signIn(theirs, { ...person, password: 'an even longer password' })
    await theirs.context().close()
  }, 180_000)
}

/** A person accepts an invitation in their own browser. */
async function join(world: PortalWorld, link: string, person: Person): Promise<Visitor> {
  const visitor = await world.visitor()
  const { page } = visitor
  await page.goto(behindTap(link, world.origin))
  await page.getByLabel('Name').fill(person.name)
  expect(await page.getByLabel('E-mail').inputValue()).toBe(person.email)
  await page.getByLabel('Password').fill(person.password)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('heading', { name: 'Quick start' }).waitFor()
  return visitor
}

const readLink = async (page: Page) =>
  (await page.getByRole('figure', { name: 'link' }).locator('code').textContent()) ?? ''

const behindTap = (link: string, origin: string) => link.replace(/^http:\/\/[^/]+/, origin)
