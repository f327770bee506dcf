/** The first account, created with a one-time link. */
import { expect, test } from 'bun:test'
import { callAdmin } from '../page-scripts.ts'
import { type Flow, firstAccountLink, admin as person } from '../portal-world.ts'

export function firstAccountFlow({ world, admin }: Flow): void {
  test('the first account is created with the link that the stack prints', async () => {
    const { page } = admin()
    await page.goto(firstAccountLink(world()))
    await page.getByLabel('Name').fill(person.name)
    await page.getByLabel('E-mail').fill(person.email)
    await page.getByLabel('Password').fill(person.password)
    expect(page.url()).not.toContain('invitation')
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('heading', { name: 'Quick start' }).waitFor()
    await page.getByText(person.name).first().waitFor()
    const cookies = await admin().context.cookies()
    const kept = { httpOnly: true, sameSite: 'Strict' }
    expect(cookies).toMatchObject([kept, kept]) // for the session, and for a known browser
  }, 150_000)

  test('the link does not work a second time', async () => {
    const { page, context } = await world().visitor()
    await page.goto(firstAccountLink(world()))
    await page.getByLabel('Name').fill('Eve')
    await page.getByLabel('E-mail').fill('eve@example.com')
    await page.getByLabel('Password').fill('another long password')
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('alert').getByText('this link was used before').waitFor()
    await page.getByRole('alert').getByText('ask the person who sent you the link').waitFor()
    await page.getByRole('alert').getByRole('link', { name: 'sign in' }).waitFor()
    await context.close()
  }, 180_000)

  test('pages require signing in, and a wrong password does not reveal why', async () => {
    const { page, context } = await world().visitor()
    await page.goto('/keys')
    await page.getByLabel('E-mail').fill(person.email)
    await page.getByLabel('Password').fill('not the right password')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('address or password is wrong').waitFor()
    await page.getByLabel('Password').fill(person.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await context.close()
  }, 150_000)

  test('a failed sign-out is reported', async () => {
    const { page } = admin()
    await page.route('**/admin/session', (route) => route.abort())
    try {
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('alert').getByText('You are still signed in').waitFor()
    } finally {
      await page.unroute('**/admin/session')
    }
    await page.reload()
    await page.getByRole('heading', { name: 'Quick start', level: 1 }).waitFor()
  }, 150_000)

  test('a failed sign-in at the identity provider is reported, and removed from the address', async () => {
    const { page, context } = await world().visitor()
    await page.goto('/#sign-in-failed=not_member')
    await page.getByRole('alert').getByText('Ask an admin for an invitation').waitFor()
    expect(page.url()).not.toContain('failed')
    await context.close()
  }, 180_000)

  test('a change without the token of the page is refused', async () => {
    const { page } = admin()
    const forged = { body: { name: 'forged' }, token: false }
    expect(await callAdmin(page, 'POST', '/keys', forged)).toMatchObject({ status: 403 })
  })
}
