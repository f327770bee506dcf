/** Members and roles: what an admin may and a member may not, enforced behind the page. */
import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { callAdmin } from '../page-scripts.ts'
import { type Flow, open, signIn, type Visitor } from '../portal-world.ts'

const person = { name: 'Max Member', email: 'max@example.com', password: 'a long enough password' }

export function memberFlow({ world, admin }: Flow): void {
  let member: Visitor

  test('an admin invites someone by a link', async () => {
    const { page } = admin()
    await open(page, 'Members')
    await page.getByRole('button', { name: 'Invite' }).click()
    await page.getByRole('dialog').getByLabel('E-mail').fill(person.email)
    await page.getByRole('button', { name: 'Make a link' }).click()
    const link = await readLink(page)
    await page.getByRole('button', { name: 'Done' }).click()
    member = await world().visitor()
    await member.page.goto(behindTap(link, world().origin))
    await member.page.getByLabel('Name').fill(person.name)
    expect(await member.page.getByLabel('E-mail').inputValue()).toBe(person.email)
    await member.page.getByLabel('Password').fill(person.password)
    await member.page.getByRole('button', { name: 'Create account' }).click()
    await member.page.getByRole('heading', { name: 'Quick start' }).waitFor()
  }, 60_000)

  test('a member sees others but changes nothing of theirs', async () => {
    const { page } = member
    await open(page, 'Members')
    await page.getByText('ask an admin').waitFor()
    expect(await page.getByRole('button', { name: 'Invite' }).count()).toBe(0)
    await open(page, 'API keys')
    await page.getByRole('row', { name: 'first key of this machine' }).waitFor()
    expect(await page.getByRole('button', { name: /^Revoke first key/ }).count()).toBe(0)
  }, 30_000)

  test('what the page does not offer is refused by the gateway, too', async () => {
    const { page } = member
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
  }, 30_000)

  test('a member manages keys of their own', async () => {
    const { page } = member
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('of Max')
    expect(await page.getByLabel('Requests per minute').count()).toBe(0)
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('button', { name: 'Revoke of Max' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('row', { name: 'of Max' }).waitFor({ state: 'detached' })
  }, 30_000)

  test('an admin gives the role, and it counts at once', async () => {
    const { page } = admin()
    await page.reload()
    await Promise.all([
      page.waitForResponse((response) => response.request().method() === 'PATCH'),
      page.getByLabel('Role of Max Member').selectOption('Admin'),
    ])
    await member.page.reload()
    await open(member.page, 'Members')
    await member.page.getByRole('button', { name: 'Invite' }).waitFor()
  }, 30_000)

  test('someone who is disabled is out, and comes back with a new password', async () => {
    const { page } = admin()
    await page.getByRole('button', { name: 'Disable Max Member' }).click()
    await page.getByRole('row', { name: person.email }).getByText('disabled').waitFor()
    await member.page.getByRole('link', { name: 'Usage' }).click()
    await member.page.getByText('Your session has ended').waitFor()
    await page.getByRole('button', { name: 'Enable Max Member' }).click()
    await page.getByRole('button', { name: 'New password for Max Member' }).click()
    const link = await readLink(page)
    await page.getByRole('button', { name: 'Done' }).click()
    await member.page.goto(behindTap(link, world().origin))
    await member.page.getByRole('heading', { name: 'Set a new password' }).waitFor()
    await member.page.getByLabel('Password').fill('an even longer password')
    await member.page.getByRole('button', { name: 'Set password' }).click()
    await member.page.getByRole('heading', { name: 'Quick start' }).waitFor()
    await member.context.clearCookies()
    await signIn(member.page, { ...person, password: 'an even longer password' })
    await member.context.close()
  }, 60_000)
}

const readLink = async (page: Page) =>
  (await page.getByRole('figure', { name: 'link' }).locator('code').textContent()) ?? ''

const behindTap = (link: string, origin: string) => link.replace(/^http:\/\/[^/]+/, origin)
