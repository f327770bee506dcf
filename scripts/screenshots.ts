/**
 * `npm run task -- docs:screenshots [FOLDER]`: every page of the portal, and the proxy's own, light and dark, at 1440 and
 * 390 pixels, into docs/screenshots. They are taken from a running stack in front of a scripted model server.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { launchChromium } from '../test/browser/chromium.ts'
import { goTo } from '../test/browser/page-scripts.ts'
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

/** Content for every page: a key, an invitation, a conversation and its usage. */
async function fill(page: Page): Promise<void> {
  await open(page, 'Playground')
  await page.getByLabel('Message').fill(question)
  await page.keyboard.press('Enter')
  await page.getByText('Receipt verified').waitFor()
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

/** The whole page, as the browser's own WebP: a fifth of a PNG. */
async function take(context: BrowserContext, page: Page, name: string): Promise<void> {
  const session = await context.newCDPSession(page)
  const { cssContentSize } = await session.send('Page.getLayoutMetrics')
  const height = Math.min(cssContentSize.height, 4000)
  const width = page.viewportSize()?.width ?? cssContentSize.width
  const { data } = await session.send('Page.captureScreenshot', {
    ...{ format: 'webp', quality, captureBeyondViewport: true },
    clip: { x: 0, y: 0, width, height, scale: 1 },
  })
  await session.detach()
  await Bun.write(join(folder, `${name}.webp`), Buffer.from(data, 'base64'))
}
