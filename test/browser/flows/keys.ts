/** Keys: created on the page, used by an official client, revoked; usage in the plots. */
import { expect, test } from 'bun:test'
import OpenAI from 'openai'
import type { Page } from 'playwright-core'
import { callAdmin, focusedLabel, paintedShare, settled, untilIs } from '../page-scripts.ts'
import { type Flow, open, type PortalWorld } from '../portal-world.ts'

export function keyFlow({ world, admin }: Flow): void {
  let key: { readonly name: string; readonly secret: string } | undefined
  /** The key of the previous test; if that failed, one created through the API. */
  const currentKey = async () => {
    if (key !== undefined) return key
    const name = `spare ${Math.random()}`
    const { body } = await callAdmin(admin().page, 'POST', '/keys', { body: { name } })
    key = { name, secret: (body as { secret: string }).secret }
    return key
  }

  test('a key is created on the page; its secret is shown once', async () => {
    const { page } = admin()
    await open(page, 'API keys')
    await page.getByRole('button', { name: 'Create key' }).click()
    const name = page.getByRole('dialog').getByLabel('Name')
    await untilIs(() => focusedLabel(page), 'Name')
    await name.fill('nightly reports')
    await page.getByText('Limits', { exact: true }).last().click()
    await page.getByLabel('Requests per minute').fill('600')
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    const secret = await readSecret(page)
    expect(secret).toMatch(/^pm_\w{40,}/)
    await page.keyboard.press('Escape') // what is shown only once must not vanish by accident
    expect(await readSecret(page)).toBe(secret)
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('row', { name: 'nightly reports' }).getByText('600 requests').waitFor()
    await page.reload()
    await page.getByRole('row', { name: 'nightly reports' }).waitFor()
    expect(await page.content()).not.toContain(secret)
    key = { name: 'nightly reports', secret }
  }, 150_000)

  test('the official client works with it', async () => {
    const { secret } = await currentKey()
    const answer = await ask(world(), secret, 'hello from the official client [[words 30]]')
    expect(answer.choices[0]?.message.content).toContain('word29')
  }, 180_000)

  test('a rotated key has a new secret, and the old one expires as chosen', async () => {
    const { page } = admin()
    const { name, secret } = await currentKey()
    await open(page, 'API keys')
    await page.getByRole('button', { name: `Rotate ${name}` }).click()
    await page.getByLabel('The old secret stops working').selectOption('At once')
    key = undefined
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
    const rotated = await readSecret(page)
    await page.getByRole('button', { name: 'I have stored it' }).click()
    expect(rotated).not.toBe(secret)
    expect(await lastAccepted(world(), secret)).toBeLessThan(2_000)
    await ask(world(), rotated, 'with the new secret')
    key = { name, secret: rotated }
  }, 150_000)

  test('usage appears in the figures, the plot and its table', async () => {
    const { page } = admin()
    const { name, secret } = await currentKey()
    await ask(world(), secret, 'one')
    await ask(world(), secret, 'and another')
    await open(page, 'Usage')
    await page.getByLabel('Split by').selectOption('API key')
    const table = page.getByRole('region', { name: 'Tokens by key' })
    await untilShown(page, async () => {
      await page.reload()
      await page.getByLabel('Split by').selectOption('API key')
      await table.getByText(name).first().waitFor({ timeout: 5_000 })
      expect(Number(await page.locator('[data-tile=Requests]').textContent())).toBeGreaterThan(1)
    })
    await table.getByText('Show as table').click()
    const header = table.getByRole('columnheader', { name })
    await header.waitFor()
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
  }, 180_000)

  test('plots are drawn in a browser started without a locale', async () => {
    const page = await admin().page.context().newPage()
    await page.addInitScript(() => {
      Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix' })
    })
    await page.goto(new URL('/usage', admin().page.url()).href)
    await page.locator('canvas').first().waitFor()
    await page.close()
  }, 150_000)

  test('the export contains one line per request', async () => {
    const { page } = admin()
    await open(page, 'Usage')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export CSV' }).click(),
    ])
    const text = await Bun.file(await download.path()).text()
    expect(text.split('\r\n')[0]).toContain('request_id,started_at')
    expect(text).toContain(',scripted,/v1/chat/completions,complete,200,')
  }, 180_000)

  test('a revoked key is refused within two seconds', async () => {
    const { page } = admin()
    const { name, secret } = await currentKey()
    await open(page, 'API keys')
    await page.getByRole('button', { name: `Revoke ${name}` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    expect(await lastAccepted(world(), secret)).toBeLessThan(2_000)
    await page.getByRole('row', { name }).waitFor({ state: 'detached' })
    await page.getByLabel('Show revoked keys').check()
    await page.getByRole('row', { name }).getByText('revoked').waitFor()
  }, 150_000)
}

const readSecret = async (page: Page) =>
  (await page.getByRole('figure', { name: 'API key' }).locator('code').textContent()) ?? ''

export function ask({ stack }: PortalWorld, apiKey: string, content: string) {
  const secureFetch = (url: string | URL | Request, init?: RequestInit) =>
    fetch(url as string, { ...init, tls: { ca: stack.ca } } as RequestInit)
  const baseURL = `${stack.proxylessUrl}/v1`
  const client = new OpenAI({ baseURL, apiKey, fetch: secureFetch, maxRetries: 0 })
  return client.chat.completions.create({
    model: 'scripted',
    messages: [{ role: 'user', content }],
  })
}

/** When the last successful request with this key was sent, in milliseconds from now. */
async function lastAccepted(world: PortalWorld, apiKey: string): Promise<number> {
  const started = performance.now()
  for (let acceptedMs = 0; ; ) {
    const sentMs = performance.now() - started
    const { status } = await ask(world, apiKey, 'still there?').then(
      () => ({ status: 200 }),
      (error: { status: number }) => error,
    )
    if (status === 401) return acceptedMs
    if (sentMs > 10_000) return sentMs
    acceptedMs = sentMs
    await Bun.sleep(50)
  }
}

/** Workers report usage a moment after the answer. */
export async function untilShown(page: Page, attempt: () => Promise<void>): Promise<void> {
  for (let tries = 0; tries < 5; tries++) {
    if (
      await attempt().then(
        () => true,
        () => false,
      )
    )
      return
    await Bun.sleep(500)
  }
  throw new Error(`not shown at ${page.url()}`)
}
