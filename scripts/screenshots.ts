/**
 * `npm run task -- docs:screenshots [FOLDER]`: every page of the portal, and the proxy's own, light and dark, at 1440 and
 * 390 pixels, into docs/screenshots. They are taken from a running stack in front of a scripted model server.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { launchChromium } from '../test/browser/chromium.ts'
import { callAdmin, goTo } from '../test/browser/page-scripts.ts'
import {
  createFirstAccount,
  firstAccountLink,
  open,
  startPortalWorld,
} from '../test/browser/portal-world.ts'

const folder = resolve(process.argv[2] ?? join(import.meta.dir, '../docs/screenshots'))
const limitMs = 300_000
const quality = 60

const pages = {
  'quick-start': '/',
  playground: '/playground',
  verification: '/verification',
  models: '/models',
  keys: '/keys',
  usage: '/usage',
  requests: '/requests',
  members: '/members',
  audit: '/audit',
  account: '/account',
} as const

const looks = [
  { name: 'light-1440', viewport: { width: 1440, height: 900 }, colorScheme: 'light' },
  { name: 'dark-1440', viewport: { width: 1440, height: 900 }, colorScheme: 'dark' },
  { name: 'light-390', viewport: { width: 390, height: 844 }, colorScheme: 'light' },
  { name: 'dark-390', viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
] as const

const question = `Explain **sealing** in two sentences, then show it:

\`\`\`ts
const sealed = await seal(prompt, machineKey)
\`\`\`

| who | sees |
|---|---|
| the gateway | bytes |
| the machine | words |`

const browser = await launchChromium()
if (browser === undefined) throw new Error('no Chromium starts here; install one')
const world = await startPortalWorld(browser)
try {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const { page, context } = await world.visitor({ viewport: looks[0].viewport })
  context.setDefaultTimeout(limitMs)
  await createFirstAccount(page, firstAccountLink(world))
  await fill(page)
  for (const { name, viewport, colorScheme } of looks) {
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    for (const [called, path] of Object.entries(pages)) {
      await goTo(page, path)
      await settle(page, path)
      await take(context, page, `${called}-${name}`)
    }
    await takeAlone(`sign-in-${name}`, '/', { viewport, colorScheme })
    await takeAlone(`proxy-${name}`, world.stack.proxyUrl, { viewport, colorScheme })
  }
  console.log(`wrote ${looks.length * (Object.keys(pages).length + 2)} pictures to ${folder}`)
} finally {
  await world.stop()
}

/** Content for every page: prices, a key with a budget, an invitation, a conversation and its usage. */
async function fill(page: Page): Promise<void> {
  const price = { input_micros: 150_000, cached_micros: 15_000, output_micros: 600_000 }
  const models = ['scripted', 'scripted-large'].map((model) => ({ model, ...price }))
  await admin(page, 'PUT', '/prices', { currency: 'EUR', models })
  const { id } = await admin(page, 'POST', '/keys', {
    name: 'Reports of the night shift',
    expires_at: new Date(Date.now() + 90 * 24 * 3_600_000).toISOString(),
    limits: { tokens_per_month: 2_000_000 },
  })
  await admin(page, 'PUT', `/budgets/${id}`, { budget_micros: 25_000_000 })
  await admin(page, 'POST', '/invitations', { email: 'grace@example.com', role: 'member' })
  await open(page, 'Playground')
  await page.getByLabel('Message').fill(question)
  await page.keyboard.press('Enter')
  await page.getByText('Receipt verified').waitFor()
}

async function admin(page: Page, method: string, path: string, body: object) {
  const answer = await callAdmin(page, method, path, { body })
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}`)
  return answer.body as { readonly id: string }
}

async function settle(page: Page, path: string): Promise<void> {
  await page.locator(`nav a[aria-current][href="${path}"]`).waitFor({ state: 'attached' })
  await page.locator('.waiting').first().waitFor({ state: 'detached' })
  if (path === '/usage') await page.locator('canvas').first().waitFor()
  if (path === '/verification') await page.locator('.time-line').waitFor()
}

type Look = Parameters<typeof world.visitor>[0]

async function takeAlone(name: string, url: string, look: Look): Promise<void> {
  const { page, context } = await world.visitor(look)
  context.setDefaultTimeout(limitMs)
  await page.goto(url)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await take(context, page, name)
  await context.close()
}

/** The whole page on a screen that is high enough, as the browser's own WebP: a fifth of a PNG. */
async function take(context: BrowserContext, page: Page, name: string): Promise<void> {
  const session = await context.newCDPSession(page)
  await page.mouse.move(0, 0)
  const screen = page.viewportSize() ?? { width: 1440, height: 900 }
  const { cssContentSize } = await session.send('Page.getLayoutMetrics')
  await session.send('Emulation.setDeviceMetricsOverride', {
    width: screen.width,
    height: Math.max(screen.height, Math.ceil(cssContentSize.height)),
    deviceScaleFactor: 1,
    mobile: screen.width < 500,
  })
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality })
  await page.setViewportSize(screen)
  await session.detach()
  await Bun.write(join(folder, `${name}.webp`), Buffer.from(data, 'base64'))
}
