/** The proxy's page in a real browser: accessible in light and dark, wide and narrow, under its own policy. */
import { afterAll, expect } from 'bun:test'
import AxeBuilder from '@axe-core/playwright'
import { unlessMissing } from '@privatemode/service/testing'
import type { Locator } from 'playwright-core'
import {
  formatPage,
  type PageFacts,
  pageHeaders,
} from '../../apps/proxy/src/inbound/verification-page.ts'
import { launchChromium } from '../browser/chromium.ts'

const browser = await launchChromium()
const inBrowser = unlessMissing(browser === undefined ? 'no Chromium starts here' : undefined).test

const now = new Date()
const checks = ['passed', 'skipped', 'passed'].map((result, index) => ({
  id: `snp/check-${index}`,
  result: result as 'passed' | 'skipped',
  detail: 'what was seen '.repeat(8),
}))
const facts: PageFacts = {
  quorum: 0,
  origin: 'http://127.0.0.1:8080',
  portalUrl: 'https://api.test',
  version: '1',
  backend: 'https://api.test',
  now,
  readiness: {
    ready: true,
    reason: 'backend verified',
    manifest: 'm',
    verified_workers: 1,
    log_age_seconds: 0,
    usable_until: null,
  },
  verification: {
    manifest: {
      digest: `sha256:${'ab'.repeat(32)}`,
      serial: 3,
      issued_at: now.toISOString(),
      expires_at: now.toISOString(),
      log_signed_at: now.toISOString(),
      usable_until: now.toISOString(),
      log_refused: null,
      evidence: 'hardware',
      enforced_since: now.toISOString(),
    },
    workers: [
      {
        worker_id: 'w_1',
        hardware: true,
        revocation: 'not checked',
        machine: [
          { kind: 'chip', id: 'c1', listed: true },
          { kind: 'gpu', id: 'g1', listed: false },
        ],
        seal_key_id: 'k'.repeat(64),
        verified_at: now.toISOString(),
        valid_until: new Date(now.getTime() + 3_000_000).toISOString(),
        models: ['org/model'],
        engine: 'vllm',
        build: 'b',
        checks,
      },
    ],
    refused: [{ worker_id: 'w_2', code: 'debug_enabled', reason: 'debug is on', checks }],
  },
  cacheChecks: (['isolates', 'shares', 'caches-nothing', 'cannot-tell'] as const).map(
    (verdict) => ({
      model: `org/${verdict}`,
      checked_at: now.toISOString(),
      verdict,
      basis: 'times',
      reason: 'the same salt is quicker than a new prompt',
      rounds: 16,
      comparisons: [],
    }),
  ),
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: () => new Response(formatPage(facts), { headers: pageHeaders }),
})
afterAll(async () => {
  await browser?.close()
  await server.stop(true)
})

inBrowser(
  'the page has no accessibility violation and does not overflow',
  async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [1200, 320]) {
        // The checker is a script, which the page's policy would refuse.
        const viewport = { width, height: 800 }
        const context = await browser!.newContext({ colorScheme, bypassCSP: true, viewport })
        const page = await context.newPage()
        await page.goto(server.url.href)
        for (const summary of await page.locator('summary').all()) await summary.click()
        const { violations } = await new AxeBuilder({ page }).analyze()
        expect(violations.map(({ id }) => id)).toEqual([])
        const [content, visible] = (await page.evaluate(
          '[document.body.scrollWidth, innerWidth]',
        )) as [number, number]
        expect(content).toBeLessThanOrEqual(visible)
        await context.close()
      }
    }
  },
  120_000,
)

inBrowser(
  'the page renews itself, unless somebody reads a detail of it, and says when the proxy is gone',
  async () => {
    const page = await browser!.newPage()
    await page.clock.install()
    let version = 'one'
    let isGone = false
    await page.route(server.url.href, (route) =>
      isGone
        ? route.abort()
        : route.fulfill({ body: formatPage({ ...facts, version }), headers: pageHeaders }),
    )
    await page.goto(server.url.href)
    const footer = page.locator('footer')
    await expectText(footer, 'Version one.')
    version = 'two'
    await page.locator('summary').first().click()
    await page.clock.runFor(16_000)
    await expectText(footer, 'Version one.')
    await page.locator('summary').first().click()
    await page.evaluate('document.activeElement.blur()')
    await page.clock.runFor(16_000)
    await footer.filter({ hasText: 'Version two.' }).waitFor()
    isGone = true
    await page.clock.runFor(16_000)
    await page.getByRole('status').filter({ hasText: 'no longer answers' }).waitFor()
    await page.close()
  },
  120_000,
)

async function expectText(locator: Locator, text: string): Promise<void> {
  expect(await locator.textContent()).toContain(text)
}

inBrowser(
  'the page is styled and quiet under its own policy',
  async () => {
    const page = await browser!.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await page.goto(server.url.href)
    const radius = await page.evaluate(
      'getComputedStyle(document.querySelector("article")).borderRadius',
    )
    expect(radius).not.toBe('0px')
    expect(complaints.filter((text) => !text.includes('favicon'))).toEqual([])
    await page.close()
  },
  120_000,
)
