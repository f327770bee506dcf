/** How pages look and feel: light, dark, phone; keyboard; accessibility by axe. */
import { expect, test } from 'bun:test'
import AxeBuilder from '@axe-core/playwright'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import {
  cutTables,
  focused,
  focusedLabel,
  goTo,
  ground,
  motions,
  overflow,
  settled,
  untilIs,
} from '../page-scripts.ts'
import { type Flow, open, admin as owner, type Visitor } from '../portal-world.ts'

const looks: Record<string, BrowserContextOptions> = {
  light: { viewport: { width: 1280, height: 860 }, colorScheme: 'light' },
  dark: { viewport: { width: 1280, height: 860 }, colorScheme: 'dark' },
  tablet: { viewport: { width: 900, height: 1200 }, colorScheme: 'light' },
  phone: { viewport: { width: 360, height: 740 }, colorScheme: 'light', isMobile: true },
}

const paths = [
  '/',
  '/playground',
  '/verification',
  '/models',
  '/keys',
  '/usage',
  '/requests',
  '/members',
  '/audit',
  '/account',
]
/** A folder for screenshots of every page, for human review. */
const pictures = process.env.PORTAL_SCREENSHOTS

export function appearanceFlow({ world, admin }: Flow): void {
  const visit = async (look: string): Promise<Visitor> =>
    world().visitor({ ...looks[look], storageState: await admin().context.storageState() })

  test.each(Object.keys(looks))(
    'every page is accessible and fits: %s',
    async (look) => {
      const { page, context } = await visit(look)
      await page.goto('/')
      await page.getByRole('heading', { level: 1 }).waitFor()
      for (const path of paths) {
        await goTo(page, path)
        await settle(page, path)
        await judge(page, `${look} ${path}`)
      }
      await goTo(page, '/keys')
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('dialog').waitFor()
      await judge(page, `${look} dialog`)
      await page.keyboard.press('Escape')
      await goTo(page, '/models')
      await page.getByRole('button', { name: /^Drain/ }).click()
      await page.getByText('No machine remains in service').waitFor()
      await judge(page, `${look} drain dialog`)
      await page.keyboard.press('Escape')
      await goTo(page, '/usage')
      await page.getByRole('button', { name: 'Set prices' }).click()
      await page.getByRole('dialog').waitFor()
      await judge(page, `${look} prices dialog`)
      await page.keyboard.press('Escape')
      await goTo(page, '/playground')
      await page.getByLabel('Message').fill('hello')
      await page.keyboard.press('Enter')
      await page.locator('.turn.assistant[aria-busy=false]').waitFor()
      await judge(page, `${look} conversation`)
      // What the gateway saw is on the screen without a click or scrolling.
      const seen = page.getByText('None of your text.')
      if (look !== 'phone') expect(await isOnScreen(seen)).toBe(true)
      else expect(await seen.isVisible()).toBe(true)
      await context.close()
      const stranger = await world().visitor(looks[look])
      await stranger.page.goto('/')
      await stranger.page.getByRole('heading', { name: 'Sign in' }).waitFor()
      await judge(stranger.page, `${look} sign-in`)
      await stranger.context.close()
    },
    240_000,
  )

  test.each(Object.keys(looks))(
    "the proxy's own page is accessible and fits: %s",
    async (look) => {
      const context = await world().browser.newContext(looks[look])
      const page = await context.newPage()
      await page.goto(world().stack.proxyUrl)
      await page.getByRole('heading', { name: 'The chain of trust' }).waitFor()
      await page.getByText('Use this proxy').click()
      await judge(page, `${look} proxy`)
      await context.close()
    },
    150_000,
  )

  test('the colour scheme can be chosen, and the choice is kept', async () => {
    const { page } = admin()
    const system = await ground(page)
    const button = page.getByRole('button', { name: /^Colours/ })
    await button.click()
    await button.click()
    const dark = await settled(
      () => ground(page),
      (colour) => colour !== system,
    )
    expect(dark).not.toBe(system)
    await page.reload()
    await page.getByRole('heading', { level: 1 }).waitFor()
    await untilGround(page, dark)
    await button.click()
    await untilGround(page, system)
  }, 150_000)

  test('the keyboard reaches everything: skip link, navigation, dialog and back', async () => {
    const { page } = admin()
    await page.goto('/keys')
    await page.getByRole('button', { name: 'Create key' }).waitFor()
    await page.keyboard.press('Tab')
    await untilFocused(page, 'Skip to the content')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await untilFocused(page, 'Create key')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await untilFocused(page, 'Create key')
    await open(page, 'Models')
    await untilFocused(page, 'Models')
  }, 150_000)

  test('the keyboard alone leads from sign-in to a receipt', async () => {
    const { page, context } = await world().visitor()
    await page.goto('/')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await tabTo(page, focusedLabel, 'E-mail')
    await page.keyboard.type(owner.email)
    await tabTo(page, focusedLabel, 'Password')
    await page.keyboard.type(owner.password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Quick start', level: 1 }).waitFor()
    await tabTo(page, focused, 'Playground')
    await page.keyboard.press('Enter')
    await page.getByLabel('Message').waitFor()
    await tabTo(page, focusedLabel, 'Message')
    await page.keyboard.type('by hand')
    await page.keyboard.press('Enter')
    await page.getByText('Receipt verified').waitFor()
    // The focus stays at the message; what was signed is before it.
    await tabTo(page, focused, 'What was signed and checked', 'Shift+Tab')
    await page.keyboard.press('Enter')
    await page.getByText('receipt/signature').waitFor()
    await context.close()
  }, 150_000)

  test('with reduced motion, there are no transitions or animations', async () => {
    const { page, context } = await world().visitor({
      reducedMotion: 'reduce',
      storageState: await admin().context.storageState(),
    })
    await page.goto('/')
    await page.getByRole('radio', { name: 'Without a proxy' }).waitFor()
    expect(new Set(await motions(page))).toEqual(new Set(['0s none']))
    await context.close()
  }, 150_000)
}

async function isOnScreen(element: Locator): Promise<boolean> {
  const box = await element.boundingBox()
  const screen = element.page().viewportSize()
  if (box === null || screen === null) return false
  return box.y >= 0 && box.y + box.height <= screen.height
}

const untilGround = (page: Page, colour: string) => untilIs(() => ground(page), colour)

/** Presses Tab until the focused element has this text. */
async function tabTo(
  page: Page,
  read: (page: Page) => Promise<string>,
  wanted: string,
  key = 'Tab',
): Promise<void> {
  for (let presses = 0; presses < 80; presses++) {
    if ((await read(page)).trim() === wanted) return
    await page.keyboard.press(key)
  }
  expect((await read(page)).trim()).toBe(wanted)
}

const untilFocused = (page: Page, text: string) => untilIs(() => focused(page), text)

async function settle(page: Page, path: string): Promise<void> {
  await page.locator(`nav a[aria-current][href="${path}"]`).waitFor({ state: 'attached' })
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.locator('.waiting').first().waitFor({ state: 'detached' })
  if (path === '/usage') await page.locator('canvas').first().waitFor()
}

async function judge(page: Page, name: string): Promise<void> {
  if (pictures !== undefined) {
    const path = `${pictures}/${name.replace(/\W+/g, '-')}.png`
    await page.screenshot({ path, fullPage: !name.includes('dialog') })
  }
  expect({ name, overflow: await overflow(page) }).toEqual({ name, overflow: 0 })
  expect({ name, cut: await cutTables(page) }).toEqual({ name, cut: [] })
  const { violations } = await new AxeBuilder({ page }).analyze()
  const shown = violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`,
  )
  expect({ name, shown }).toEqual({ name, shown: [] })
}
