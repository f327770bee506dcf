/** The playground: a conversation of which the gateway sees only ciphertext. */
import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { encodingsOf, findSecrets } from '../../blindness/find-secret.ts'
import { memoryHolds } from '../../blindness/process-memory.ts'
import { pictureBase64 } from '../../servers/picture.ts'
import { settled, untilIs } from '../page-scripts.ts'
import { type Flow, open, admin as owner, signIn } from '../portal-world.ts'
import { untilShown } from './keys.ts'

const prompt = 'Zimtmuschel-Orgelwind-8264 has a secret'
const dot = pictureBase64('dot')
const instructions = 'Answer like a lighthouse keeper of Quarzhafen'

export function playgroundFlow({ world, admin }: Flow): void {
  test('a conversation is answered, with a verified receipt', async () => {
    const { page } = admin()
    await open(page, 'Playground')
    await page.getByText('Model settings').click()
    await page.getByLabel('System prompt').fill(instructions)
    await page.getByLabel('Temperature').fill('0.5')
    await page.getByLabel('Message').fill(prompt)
    await page.keyboard.press('Enter')
    await page.locator('.turn.assistant').getByText(prompt).waitFor()
    // The next question neither waits for the padding of an answer nor cuts it.
    await page.getByText('Follows the padding').waitFor()
    await page.getByLabel('Message').fill('And what else?')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Receipt verified').nth(1).waitFor()
    const asked = JSON.stringify(world().server.requests.at(-1)?.body)
    expect(asked).toContain(prompt)
    expect(asked).toContain(instructions)
    expect(world().server.requests.at(-1)?.body).toMatchObject({ temperature: 0.5 })
  }, 150_000)

  test('every message shows what left, what the gateway saw, which machine answered and what it signed', async () => {
    const { page } = admin()
    await open(page, 'Playground')
    const sent = page.getByRole('complementary', { name: 'What left your browser' }).first()
    await sent.getByText('None of your text.').waitFor()
    const cipher = (await sent.locator('.cipher').textContent()) ?? ''
    expect(cipher).toMatch(/^([0-9a-f]{2} ){24}…$/)
    // Shown as sent: the same bytes are on the wire.
    const start = Buffer.from(cipher.replace(/[^0-9a-f]/g, ''), 'hex')
    expect(world().tap.bytes().includes(start)).toBe(true)
    const answered = page.getByRole('complementary', { name: 'Who answered' }).first()
    await answered.getByText('Receipt verified').waitFor()
    await answered.getByText('software (trial)').waitFor()
    const machine = await answered.locator('dd code').first().textContent()
    expect(machine).toMatch(/^w_/)
    await answered.getByText('What was signed and checked').click()
    await answered.getByText('receipt/signature').waitFor()
  }, 150_000)

  test('receipts dropped on the page audit the bill, in this browser', async () => {
    const { page } = admin()
    await open(page, 'Playground')
    const answered = page.getByRole('complementary', { name: 'Who answered' }).first()
    const signed = answered.getByRole('button', { name: 'Download the receipt' })
    if (!(await signed.isVisible())) await answered.getByText('What was signed').click()
    const [download] = await Promise.all([page.waitForEvent('download'), signed.click()])
    const receipt = await Bun.file(await download.path()).text()
    await open(page, 'Requests')
    await untilShown(page, async () => {
      await page.reload()
      await page.getByLabel('Receipts, one per line').setInputFiles(await download.path())
      await page.getByText('1 of 1 receipts match the bill.').waitFor({ timeout: 5_000 })
    })
    const listed = page.getByRole('region', { name: 'Billed requests' })
    await listed.getByText('as signed').waitFor()
    const { record } = JSON.parse(receipt) as { record: string }
    const facts = JSON.parse(Buffer.from(record, 'base64').toString())
    const other = { ...facts, completion_tokens: facts.completion_tokens + 5 }
    const text = JSON.stringify({ record: Buffer.from(JSON.stringify(other)).toString('base64') })
    const dataTransfer = await page.evaluateHandle(`{
      const files = new DataTransfer()
      files.items.add(new File([${JSON.stringify(text)}], 'receipts.jsonl'))
      files
    }`)
    const card = page.getByRole('region', { name: 'Audit my bill' })
    await card.dispatchEvent('drop', { dataTransfer })
    await card.getByText('1 of 1 are billed differently than signed.').waitFor()
    await listed.getByText(/^completion_tokens: signed \d+, billed \d+$/).waitFor()
    await page.getByLabel('Outcome').selectOption('Lost')
    await page.getByText('Nothing was billed that fits these filters.').waitFor()
  }, 150_000)

  test('the gateway neither saw nor stores any of it', () => {
    const { tap, stack } = world()
    const bytes = tap.bytes()
    expect(bytes.includes('/privatemode/v1/sealed')).toBe(true)
    expect(findSecrets(bytes, [prompt, instructions])).toEqual([])
    const forms = encodingsOf(prompt)
      .filter(([name]) => ['plain', 'UTF-16 LE', 'hex'].includes(name))
      .map(([, form]) => form)
    expect(memoryHolds(stack.pidOf('gateway'), forms)).toBe(false)
    // The same search finds it where it must be.
    expect(memoryHolds(stack.pidOf('worker'), forms)).toBe(true)
  }, 150_000)

  test('an answer can be stopped, which stops the model', async () => {
    const { page } = admin()
    await open(page, 'Playground')
    await page.getByLabel('Model', { exact: true }).selectOption('scripted-large')
    await page.getByLabel('Message').fill('[[pace 100]] [[words 200]]')
    await page.keyboard.press('Enter')
    await page.getByText('word3').waitFor()
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.getByText('Stopped by you').waitFor()
    const seen = world().server.requests.at(-1)
    expect(seen?.body).toMatchObject({ model: 'scripted-large' })
    for (let tries = 0; tries < 100 && seen?.wasAborted !== true; tries++) await Bun.sleep(50)
    expect(seen?.wasAborted).toBe(true)
    await page.getByText('None: the answer did not come to its end.').waitFor()
  }, 150_000)

  test('Markdown is drawn, and nothing that a model writes becomes markup or a request', async () => {
    const { page } = admin()
    await open(page, 'Playground')
    await page.getByRole('button', { name: 'New conversation' }).click()
    const text =
      '**bold** <img src=x onerror=alert(1)> ![p](https://evil.example/p.png)\n\n```js\nlet a = 1\n```'
    await page.getByLabel('Message').fill(text)
    await page.keyboard.press('Enter')
    const answer = page.locator('.turn.assistant').last()
    await answer.locator('strong', { hasText: 'bold' }).waitFor()
    await untilWhole(page)
    expect(await answer.locator('img').count()).toBe(0)
    await answer.getByText('<img src=x onerror=alert(1)>').waitFor()
    await answer.getByRole('button', { name: 'Copy js' }).waitFor()
    expect(await answer.locator('a').getAttribute('href')).toBe('https://evil.example/p.png')
  }, 150_000)

  test('a question can be edited and an answer regenerated', async () => {
    const { page } = admin()
    await open(page, 'Playground')
    const asked = () => world().server.requests.length
    await page.getByRole('button', { name: 'New conversation' }).click()
    await page.getByLabel('Message').fill('first words')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Edit' }).click()
    await untilIs(() => page.getByLabel('Message').inputValue(), 'first words')
    await page.getByLabel('Message').fill('other words')
    await page.keyboard.press('Enter')
    await page.locator('.turn.assistant').getByText('You said: other words').waitFor()
    expect(await page.locator('.turn').count()).toBe(2)
    const before = asked()
    await page.getByRole('button', { name: 'Try again' }).click()
    await settled(
      async () => asked(),
      (count) => count > before,
    )
    await untilWhole(page)
    expect(asked()).toBeGreaterThan(before)
    expect(await page.locator('.turn').count()).toBe(2)
  }, 150_000)

  test('conversations are kept in this browser, encrypted, and deleted on sign-out', async () => {
    const { page, context } = await world().visitor()
    await signIn(page, owner)
    await open(page, 'Playground')
    await page.getByLabel('Message').fill('keep the harbour of Quarzhafen')
    await page.keyboard.press('Enter')
    const stored = (before: string) =>
      settled(
        () => storedBytes(page),
        (bytes) => bytes !== before,
      )
    const first = await stored('')
    expect(first).not.toContain('Quarzhafen')
    await page.reload()
    await page.locator('.turn.user').getByText('keep the harbour of Quarzhafen').waitFor()
    await page.getByText('None: this page was left before it came.').waitFor()
    await page.getByLabel('Message').fill('and its receipt')
    await page.keyboard.press('Enter')
    await page.locator('.turn.assistant').nth(1).getByText('and its receipt').waitFor()
    const second = await stored(first)
    await page.getByText('Receipt verified').waitFor()
    await stored(second)
    await leaveBytes(page, 'mem_other', 'left by somebody who did not sign out')
    expect(await storedBytes(page)).toContain('left by somebody')
    await page.reload()
    await page.getByText('Receipt verified').waitFor()
    const own = await settled(
      () => storedBytes(page),
      (bytes) => !bytes.includes('left by somebody'),
    )
    expect(own).not.toContain('left by somebody')
    expect(own).not.toBe('')
    await page.getByRole('button', { name: 'New conversation' }).click()
    await page.getByText('Say something').waitFor()
    await page
      .getByRole('combobox', { name: 'Conversation' })
      .selectOption({ label: 'keep the harbour of Quarzhafen' })
    await page.locator('.turn.user').getByText('keep the harbour of Quarzhafen').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await storedBytes(page)).toBe('')
    await signIn(page, owner)
    await open(page, 'Playground')
    await page.getByText('Say something').waitFor()
    await context.close()
  }, 180_000)

  test('signing out in one tab clears the others', async () => {
    const { page, context } = await world().visitor()
    await signIn(page, owner)
    const other = await context.newPage()
    await other.goto('/')
    await open(other, 'Playground')
    await other.getByLabel('Message').fill('[[pace 100]] [[words 200]]')
    await other.keyboard.press('Enter')
    await other.getByText('word3').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    for (const tab of [page, other]) await tab.getByRole('heading', { name: 'Sign in' }).waitFor()
    await untilIs(() => storedBytes(other), '')
    await signIn(other, owner)
    await open(other, 'Playground')
    await other.getByText('Say something').waitFor()
    await context.close()
  }, 150_000)

  test('screen readers announce whole sentences, each once', async () => {
    const { page } = admin()
    await open(page, 'Playground')
    await startConversation(page)
    await page.getByLabel('Message').fill('One thing. Another thing! And a rest')
    await page.keyboard.press('Enter')
    await untilWhole(page)
    const said = page.getByRole('log').locator('p')
    expect(await said.allTextContents()).toEqual([
      ...['The model is answering.', 'You said: One thing.', 'Another thing!', 'And a rest'],
    ])
  }, 150_000)

  test('tools and code: a tool call is shown, and the generated code makes the same request', async () => {
    const { page } = admin()
    await open(page, 'Playground')
    await page.getByRole('button', { name: 'New conversation' }).click()
    await page.getByText('Model settings').click()
    await page.getByRole('button', { name: 'Insert a tool as an example' }).click()
    await page.getByLabel('Message').fill('[[tool weather {"city":"Bonn"}]]')
    await page.keyboard.press('Enter')
    await page.getByRole('figure', { name: 'call of weather' }).getByText('Bonn').waitFor()
    await untilWhole(page)
    await page.getByRole('button', { name: 'View code' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Client').selectOption('OpenAI, Python')
    await dialog.getByText('"name": "weather"').waitFor()
    await page.keyboard.press('Escape')
    await page.getByLabel('Temperature').fill('9')
    await page.getByLabel('Message').fill('too hot')
    await page.keyboard.press('Enter')
    await page.getByText('Temperature must be between 0 and 2').waitFor()
  }, 150_000)

  test('pictures are offered for a model that takes them, and sent to no other', async () => {
    const { page } = admin()
    await open(page, 'Playground')
    await startConversation(page)
    await page.getByText('This model takes text only').waitFor()
    expect(await page.getByRole('button', { name: 'Attach a picture' }).count()).toBe(0)
    const models = page.getByLabel('Model', { exact: true })
    await models.selectOption('scripted-large')
    await page.getByRole('button', { name: 'Attach a picture' }).waitFor()
    const picture = { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(dot, 'base64') }
    await page.getByLabel('Picture to attach').setInputFiles(picture)
    await page.getByText('dot.png attached.').waitFor()
    await page.getByLabel('Message').fill('what is this?')
    await page.keyboard.press('Enter')
    await untilWhole(page)
    const seen = () => JSON.stringify(world().server.requests.at(-1)?.body)
    expect(seen()).toContain(`data:image/png;base64,${dot}`)
    await page.locator('.turn.user img').waitFor()
    // The conversation now has a picture in it: a model without vision says so itself.
    await models.selectOption('scripted')
    await page.getByLabel('Message').fill('and now?')
    await page.keyboard.press('Enter')
    await page.getByText("model 'scripted' does not accept images").waitFor()
    await page.getByText('Choose another model').waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('and now?').waitFor({ state: 'detached' })
  }, 150_000)

  test('a failure of the model says what to do next', async () => {
    const { page } = admin()
    await open(page, 'Playground')
    await page.getByLabel('Message').waitFor() // verified while the model was available
    world().server.setDown(true)
    try {
      await page.getByLabel('Message').fill('are you there?')
      await page.getByLabel('Message').press('Enter')
      await page.locator('.turn.user').getByText('are you there?').waitFor()
      const failure = page.locator('.turn').last().getByRole('alert')
      expect(await failure.innerText()).toContain('Try again in a moment')
    } finally {
      world().server.setDown(false)
      await untilAnswered(world().stack.proxyUrl)
    }
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('are you there?').waitFor({ state: 'detached' })
  }, 150_000)
}

/** Earlier answers are gone then: `untilWhole` would take one of them for the next. */
async function startConversation(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'New conversation' }).click()
  await page.locator('.turn').first().waitFor({ state: 'detached' })
}

/** Until the last answer has all of its text; the receipt comes later. */
const untilWhole = (page: Page): Promise<void> =>
  page.locator('.turn.assistant[aria-busy=false]').last().waitFor()

/** Everything that the pages keep in their database, as text; empty if there is nothing. */
const storedBytes = (page: Page): Promise<string> =>
  page.evaluate(`(async () => {
    const name = 'privatemode-conversations'
    if (!(await indexedDB.databases()).some((one) => one.name === name)) return ''
    const database = await new Promise((resolve, reject) => {
      const request = indexedDB.open(name)
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })
    try {
      if (!database.objectStoreNames.contains('sealed')) return ''
      const found = await new Promise((resolve) => {
        const request = database.transaction('sealed').objectStore('sealed').getAll()
        request.onsuccess = () => resolve(request.result)
      })
      return found.map(({ bytes }) => new TextDecoder('latin1').decode(bytes)).join('')
    } finally {
      database.close()
    }
  })()`)

/** Stores bytes as another member's page would have. */
const leaveBytes = (page: Page, memberId: string, text: string): Promise<void> =>
  page.evaluate(`new Promise((resolve, reject) => {
    const request = indexedDB.open('privatemode-conversations')
    request.onerror = () => reject(request.error)
    request.onsuccess = () => {
      const transaction = request.result.transaction('sealed', 'readwrite')
      const bytes = new TextEncoder().encode(${JSON.stringify(text)}).buffer
      transaction.objectStore('sealed').put({ iv: new Uint8Array(12), bytes }, ${JSON.stringify(memberId)})
      transaction.oncomplete = () => {
        request.result.close()
        resolve()
      }
    }
  })`)

/** The worker looks at a model server that was away before it uses it again. */
async function untilAnswered(proxyUrl: string): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const response = await fetch(`${proxyUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'scripted', messages: [{ role: 'user', content: 'back?' }] }),
    })
    await response.text()
    if (response.ok) return
    await Bun.sleep(100)
  }
}
