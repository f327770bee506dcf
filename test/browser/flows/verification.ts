/** The verification page: green on the running stack, red if something is wrong. */
import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createNoteSigner, parseNoteSigner, publishEntry } from '@privatemode/attestation'
import type { Page } from 'playwright-core'
import { type Flow, open } from '../portal-world.ts'

export function verificationFlow({ world, admin }: Flow): void {
  const config = () => join(world().stack.home, 'portal', 'portal.json')
  const openVerified = async () => {
    const { page } = admin()
    await open(page, 'Verification')
    await page.locator('[data-verdict=verified]').waitFor()
    return page
  }

  test('the running stack is verified, and reported as lacking protected hardware', async () => {
    const page = await openVerified()
    expect(await page.locator('[data-verdict=verified]').textContent()).toContain(
      'without confidential hardware',
    )
    await page
      .getByRole('region', { name: /^Machine/ })
      .getByText('software (trial)', { exact: true })
      .waitFor()
    await page
      .getByRole('region', { name: /^Machine/ })
      .getByText(/^[0-9a-f]{96}$/)
      .first()
      .waitFor()
    const checks = page.locator('.checks li')
    expect(await checks.count()).toBeGreaterThan(15)
    expect(await page.locator('.checks li.bad').count()).toBe(0)
    await page.getByText('came from this gateway').waitFor()
    const proxy = page.getByRole('link', { name: 'Its own page' })
    expect(await proxy.getAttribute('href')).toBe(new URL(world().stack.proxyUrl).origin)
  }, 150_000)

  test('the evidence that the browser got passes the verify command', async () => {
    const page = await openVerified()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download the evidence' }).click(),
    ])
    const command = await page.getByRole('figure', { name: 'verify command' }).locator('code')
    const words = ((await command.textContent()) ?? '').split(' ')
    const args = words.slice(words.indexOf('verify', 5))
    args[args.indexOf('evidence.json')] = await download.path()
    const main = join(import.meta.dir, '../../../apps/verify/src/main.ts')
    const run = Bun.spawnSync([process.execPath, main, 'bundle', ...args])
    expect(run.stderr.toString()).toBe('')
    expect(run.exitCode).toBe(0)
  }, 150_000)

  test('a log key of your own that did not sign the log is red', async () => {
    const page = await openVerified()
    const { verifierKey } = await createNoteSigner('localhost/privatemode')
    await page.getByText('Use a key or manifest that you got elsewhere').click()
    await page.getByLabel('Log key').fill(verifierKey)
    await page.getByRole('button', { name: 'Verify with this' }).click()
    await untilRed(page, 'log_signature_invalid')
    await linkIs(page, 'log', 'bad')
    expect(await page.locator('[data-link][data-state=good]').count()).toBe(0)
  }, 150_000)

  test('a mistyped key is reported as mistyped, not as an attack', async () => {
    const page = await openVerified()
    const { verifierKey } = await createNoteSigner('localhost/privatemode')
    await page.getByText('Use a key or manifest that you got elsewhere').click()
    await page.getByLabel('Log key').fill(verifierKey.slice(0, -1))
    await page.getByRole('button', { name: 'Verify with this' }).click()
    const verdict = page.locator('[data-verdict=refused]')
    await verdict.getByText('not a whole log key').waitFor()
    expect(await verdict.textContent()).not.toContain('do not use it')
    expect(await page.locator('[data-link][data-state=bad]').count()).toBe(0)
  }, 150_000)

  test('the chain is never greener than what was checked', async () => {
    const page = await openVerified()
    for (const link of ['sealing', 'binding', 'manifest', 'log']) await linkIs(page, link, 'good')
    for (const link of ['vendor', 'witnesses', 'source']) await linkIs(page, link, 'caution')
    await page.locator('[data-link=vendor] > details > summary').click()
    await page.locator('[data-link=vendor]').getByText('software/report-signature').waitFor()
  }, 150_000)

  test('the manifest is shown as a readable document, and its log as a timeline', async () => {
    const page = await openVerified()
    const card = page.getByRole('region', { name: /^Manifest/ })
    await card
      .getByText(/Software \(trial\), measuring [0-9a-f]{64}/)
      .first()
      .waitFor()
    await card.getByText('scripted', { exact: false }).first().waitFor()
    await card.locator('.time-line [data-current=true]').getByText('in force').waitFor()
  }, 150_000)

  test('a manifest that lists other software is red, and shows the check that failed', async () => {
    const page = await openVerified()
    await page.getByText('Use a key or manifest that you got elsewhere').click()
    await page.getByLabel('What you have').selectOption('A manifest, as it was published')
    await page.getByRole('textbox', { name: 'Manifest' }).fill(otherManifest(world().stack.home))
    await page.getByRole('button', { name: 'Verify with this' }).click()
    await untilRed(page, 'measurement_unknown')
    await page.locator('.checks li.bad').getByText('software/measurement').waitFor()
    await page.getByRole('button', { name: "Back to the operator's key" }).click()
    await page.locator('[data-verdict=verified]').waitFor()
  }, 150_000)

  test('a manifest chosen before the page has read portal.json is still used', async () => {
    const { page } = admin()
    let answer = (): void => {}
    const asked = new Promise<void>((resolve) => {
      answer = resolve
    })
    await page.route('**/portal.json', async (route) => {
      await asked
      await route.continue()
    })
    try {
      await page.goto('/verification')
      await page.getByText('Use a key or manifest that you got elsewhere').click()
      await page.getByLabel('What you have').selectOption('A manifest, as it was published')
      await page.getByRole('textbox', { name: 'Manifest' }).fill(otherManifest(world().stack.home))
      await page.getByRole('button', { name: 'Verify with this' }).click()
      answer()
      await untilRed(page, 'measurement_unknown')
    } finally {
      answer()
      await page.unroute('**/portal.json')
    }
  }, 150_000)

  test('with a wrong key from the operator nothing is sent', async () => {
    const { page, context } = await world().visitor({
      storageState: await admin().context.storageState(),
    })
    const right = readFileSync(config(), 'utf8')
    const { verifierKey } = await createNoteSigner('localhost/privatemode')
    const wrong = { ...JSON.parse(right), manifest_log_key: verifierKey }
    writeFileSync(config(), JSON.stringify(wrong))
    try {
      await page.goto('/verification')
      await untilRed(page, 'log_signature_invalid')
      await open(page, 'Playground')
      await page.getByText('nothing is sent').waitFor()
      expect(await page.getByLabel('Message').count()).toBe(0)
    } finally {
      writeFileSync(config(), right)
      await context.close()
    }
  }, 150_000)

  test('if the operator does not allow software evidence, the stack is refused', async () => {
    const { page, context } = await world().visitor({
      storageState: await admin().context.storageState(),
    })
    const right = readFileSync(config(), 'utf8')
    const { software_root: _, ...strict } = JSON.parse(right)
    writeFileSync(config(), JSON.stringify(strict))
    try {
      await page.goto('/verification')
      await untilRed(page, 'software_refused')
    } finally {
      writeFileSync(config(), right)
      await context.close()
    }
  }, 150_000)

  test('a new manifest is shown with what it changed, and with the source to rebuild', async () => {
    const page = await openVerified()
    const machine = page.getByRole('region', { name: /^Machine/ })
    await machine.getByText('The manifest names none.').waitFor()
    const revision = 'c0ffee00'.repeat(5)
    const source = { repository: 'https://git.example/machine.git', revision }
    await publishNext(world().stack.home, { session_minutes: 50, machine: { source } })
    await page.getByRole('button', { name: 'Verify again' }).click()
    const card = page.getByRole('region', { name: 'Manifest 2' })
    const entries = card.locator('.time-line > li')
    await entries.nth(1).getByText('The first manifest.').waitFor()
    await entries.nth(0).getByText('in force').waitFor()
    await entries.nth(0).getByText('4 fields differ from the one before').click()
    const changes = entries.nth(0).locator('.changes li')
    const changed = (path: string) => changes.filter({ hasText: path })
    expect(await changed('session_minutes').locator('del').textContent()).toBe('55')
    expect(await changed('session_minutes').locator('ins').textContent()).toBe('50')
    expect(await changed('machine.source.revision').locator('del').count()).toBe(0)
    await machine.getByText(revision).waitFor()
    await machine.getByText('verify -- rebuild manifest.json').waitFor()
    // What the manifest says about its source is a claim: only a rebuild makes it more.
    await linkIs(page, 'source', 'caution')
  }, 150_000)
}

/** Publishes the manifest again as its operator does, with changes. */
async function publishNext(home: string, changes: object): Promise<void> {
  const manifest = JSON.parse(readFileSync(join(home, 'manifest.json'), 'utf8'))
  const next = { ...manifest, serial: manifest.serial + 1, ...changes }
  const [signer = ''] = readFileSync(join(home, 'keys', 'manifest-log-key'), 'utf8').split('\n')
  const store = {
    read: async (path: string) => {
      const file = join(home, 'manifest-log', path)
      return existsSync(file) ? new Uint8Array(readFileSync(file)) : undefined
    },
    write: async (path: string, bytes: Uint8Array) => {
      const file = join(home, 'manifest-log', path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(`${file}.new`, bytes)
      renameSync(`${file}.new`, file)
    },
  }
  const entry = new TextEncoder().encode(`${JSON.stringify(next, null, 2)}\n`)
  await publishEntry(store, await parseNoteSigner(signer), entry)
}

const linkIs = (page: Page, link: string, state: string) =>
  page.locator(`[data-link=${link}][data-state=${state}]`).waitFor()

async function untilRed(page: Page, code: string): Promise<void> {
  const verdict = page.locator('[data-verdict=refused]', { hasText: code })
  await verdict.waitFor()
  expect(await verdict.textContent()).toContain('Not verified')
}

/** The published manifest with one digit of a measurement changed. */
function otherManifest(home: string): string {
  const bundle = readFileSync(join(home, 'manifest-log/tile/entries/000.p/1'))
  const text = bundle.subarray(2, 2 + bundle.readUInt16BE(0)).toString()
  const [measurement = ''] = /[0-9a-f]{96}/.exec(text) ?? []
  const digit = measurement.startsWith('0') ? '1' : '0'
  return text.replace(measurement, digit + measurement.slice(1))
}
