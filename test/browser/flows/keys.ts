/** Keys: made on the page, used by an official client, revoked; usage in the plots. */
import { expect, test } from 'bun:test'
import OpenAI from 'openai'
import type { Page } from 'playwright-core'
import { focusedLabel, paintedShare, settled } from '../page-scripts.ts'
import { type Flow, open, type PortalWorld } from '../portal-world.ts'

export function keyFlow({ world, admin }: Flow): void {
  let secret = ''

  test('a key is made on the page; its secret is shown once', async () => {
    const { page } = admin()
    await open(page, 'API keys')
    await page.getByRole('button', { name: 'Create key' }).click()
    const name = page.getByRole('dialog').getByLabel('Name')
    const label = await settled(
      () => focusedLabel(page),
      (text) => text === 'Name',
    )
    expect(label).toBe('Name')
    await name.fill('nightly reports')
    await page.getByText('Limits', { exact: true }).last().click()
    await page.getByLabel('Requests per minute').fill('600')
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    secret = await readSecret(page)
    expect(secret).toMatch(/^pm_\w{40,}/)
    await page.keyboard.press('Escape') // what is shown once does not vanish by accident
    expect(await readSecret(page)).toBe(secret)
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('row', { name: 'nightly reports' }).getByText('600 requests').waitFor()
    await page.reload()
    await page.getByRole('row', { name: 'nightly reports' }).waitFor()
    expect(await page.content()).not.toContain(secret)
  }, 60_000)

  test('the official client works with it', async () => {
    const answer = await ask(world(), secret, 'hello from the official client [[words 30]]')
    expect(answer.choices[0]?.message.content).toContain('word29')
  }, 30_000)

  test('a rotated key has a new secret, and the old one ends when it was told to', async () => {
    const { page } = admin()
    await page.getByRole('button', { name: 'Rotate nightly reports' }).click()
    await page.getByLabel('The old secret stops working').selectOption('At once')
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
    const rotated = await readSecret(page)
    await page.getByRole('button', { name: 'I have stored it' }).click()
    expect(rotated).not.toBe(secret)
    expect(await untilRefused(world(), secret)).toBeLessThan(2_000)
    secret = rotated
    await ask(world(), secret, 'with the new secret')
  }, 60_000)

  test('usage shows in figures, in the plot and in its table', async () => {
    const { page } = admin()
    await open(page, 'Usage')
    await page.getByLabel('Split by').selectOption('API key')
    const table = page.getByRole('region', { name: 'Tokens by key' })
    await untilShown(page, async () => {
      await page.reload()
      await page.getByLabel('Split by').selectOption('API key')
      await table.getByText('nightly reports').first().waitFor({ timeout: 3_000 })
    })
    await table.getByText('Show as table').click()
    const header = table.getByRole('columnheader', { name: 'nightly reports' })
    await header.waitFor()
    expect(Number(await page.locator('[data-tile=Requests]').textContent())).toBeGreaterThan(1)
    const painted = await settled(
      () => paintedShare(page, 'Tokens by key'),
      (share) => share > 0.001,
    )
    expect(painted).toBeGreaterThan(0.001)
    await page.getByLabel('Split by').selectOption('Model')
    await page
      .getByRole('region', { name: 'Requests by model' })
      .getByText('scripted')
      .first()
      .waitFor()
  }, 60_000)

  test('plots are drawn in a browser that was started without a locale', async () => {
    const page = await admin().page.context().newPage()
    await page.addInitScript(() => {
      Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix' })
    })
    await page.goto(new URL('/usage', admin().page.url()).href)
    await page.locator('canvas').first().waitFor()
    await page.close()
  }, 60_000)

  test('the export has a line for each request', async () => {
    const { page } = admin()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export CSV' }).click(),
    ])
    const text = await Bun.file(await download.path()).text()
    expect(text.split('\r\n')[0]).toContain('request_id,started_at')
    expect(text).toContain(',scripted,/v1/chat/completions,complete,200,')
  }, 30_000)

  test('a revoked key is refused within two seconds', async () => {
    const { page } = admin()
    await open(page, 'API keys')
    await page.getByRole('button', { name: 'Revoke nightly reports' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    expect(await untilRefused(world(), secret)).toBeLessThan(2_000)
    await page.getByRole('row', { name: 'nightly reports' }).waitFor({ state: 'detached' })
    await page.getByLabel('Show revoked keys').check()
    await page.getByRole('row', { name: 'nightly reports' }).getByText('revoked').waitFor()
  }, 30_000)
}

const readSecret = async (page: Page) =>
  (await page.getByRole('figure', { name: 'API key' }).locator('code').textContent()) ?? ''

function ask({ stack }: PortalWorld, apiKey: string, content: string) {
  const secureFetch = (url: string | URL | Request, init?: RequestInit) =>
    fetch(url as string, { ...init, tls: { ca: stack.ca } } as RequestInit)
  const baseURL = `${stack.proxylessUrl}/v1`
  const client = new OpenAI({ baseURL, apiKey, fetch: secureFetch, maxRetries: 0 })
  return client.chat.completions.create({
    model: 'scripted',
    messages: [{ role: 'user', content }],
  })
}

/** How long the key still worked, in milliseconds. */
async function untilRefused(world: PortalWorld, apiKey: string): Promise<number> {
  const started = performance.now()
  for (;;) {
    const { status } = await ask(world, apiKey, 'still there?').then(
      () => ({ status: 200 }),
      (error: { status: number }) => error,
    )
    const elapsed = performance.now() - started
    if (status === 401 || elapsed > 10_000) return elapsed
    await Bun.sleep(50)
  }
}

/** Workers report usage a moment after the answer. */
async function untilShown(page: Page, attempt: () => Promise<void>): Promise<void> {
  for (let tries = 0; tries < 5; tries++) {
    if (
      await attempt().then(
        () => true,
        () => false,
      )
    )
      return
  }
  throw new Error(`not shown at ${page.url()}`)
}
