/**
 * `npm run task -- docs:picture [--home FOLDER]`: the README's picture of the playground, docs/playground.png, from a
 * running stack with its real model. --home names a stack's directory whose models are used, so that none is downloaded.
 */
import { mkdirSync, symlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { launchChromium } from '../test/browser/chromium.ts'
import { createFirstAccount, firstAccountLink, open } from '../test/browser/portal-world.ts'
import { runStack } from '../test/e2e/running-stack.ts'

const limitMs = 600_000
const given = process.argv.indexOf('--home')
const models = given < 0 ? undefined : resolve(process.argv[given + 1] ?? '', 'models')
const home = await mkdtemp(join(tmpdir(), 'privatemode-picture-'))
mkdirSync(home, { recursive: true })
if (models !== undefined) symlinkSync(models, join(home, 'models'))
const browser = await launchChromium()
if (browser === undefined) throw new Error('no Chromium starts here; install one')
const stack = await runStack([], home)
try {
  const context = await browser.newContext({
    baseURL: stack.gatewayUrl,
    viewport: { width: 1280, height: 800 },
    deviceScaleFactor: 1.5,
  })
  context.setDefaultTimeout(limitMs)
  const page = await context.newPage()
  await createFirstAccount(page, firstAccountLink({ stack, origin: stack.gatewayUrl }))
  await open(page, 'Playground')
  await page.getByLabel('Message').fill('Write one sentence about the sea.')
  await page.keyboard.press('Enter')
  await page.getByText('Receipt verified').waitFor()
  await page.mouse.move(0, 0)
  await page.evaluate('scrollTo(0, 0)')
  await page.screenshot({ path: join(import.meta.dir, '../docs/playground.png') })
} finally {
  await browser.close()
  await stack.stop()
  await rm(home, { recursive: true, force: true })
}
