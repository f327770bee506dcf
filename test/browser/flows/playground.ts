/** The playground: a conversation of which the gateway sees ciphertext only. */
import { expect, test } from 'bun:test'
import { encodingsOf, findSecrets } from '../../blindness/find-secret.ts'
import { memoryHolds } from '../../blindness/process-memory.ts'
import { type Flow, open } from '../portal-world.ts'

const prompt = 'Zimtmuschel-Orgelwind-8264 has a secret'
const instructions = 'Answer like a lighthouse keeper of Quarzhafen'

export function playgroundFlow({ world, admin }: Flow): void {
  test('a conversation is answered, with a verified receipt', async () => {
    const { page } = admin()
    await open(page, 'Playground')
    await page.getByText('Instructions and limits').click()
    await page.getByLabel('Instructions to the model').fill(instructions)
    await page.getByLabel('Message').fill(prompt)
    await page.keyboard.press('Enter')
    await page.locator('.turn.assistant').getByText(prompt).waitFor()
    await page.getByText('Receipt verified').waitFor()
    await page.getByLabel('Message').fill('And what else?')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Receipt verified').nth(1).waitFor()
    const asked = JSON.stringify(world().server.requests.at(-1)?.body)
    expect(asked).toContain(prompt)
    expect(asked).toContain(instructions)
    await page.getByText('Receipt verified').first().click()
    await page.getByText('What the gateway saw of your message').first().waitFor()
  }, 60_000)

  test('of which the gateway saw, and holds, nothing', () => {
    const { tap, stack } = world()
    const bytes = tap.bytes()
    expect(bytes.includes('/privatemode/v1/sealed')).toBe(true)
    expect(findSecrets(bytes, [prompt, instructions])).toEqual([])
    const forms = encodingsOf(prompt)
      .filter(([name]) => ['plain', 'UTF-16 LE', 'hex'].includes(name))
      .map(([, form]) => form)
    expect(memoryHolds(stack.pidOf('gateway'), forms)).toBe(false)
    // The same search does find it where it has to be.
    expect(memoryHolds(stack.pidOf('worker'), forms)).toBe(true)
  }, 60_000)

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
    await page.getByText('No receipt').waitFor()
  }, 60_000)

  test('a failure of the model says what to do next', async () => {
    const { page } = admin()
    await open(page, 'Playground')
    await page.getByLabel('Message').waitFor() // verified while the model was there
    world().server.setDown(true)
    try {
      await page.getByLabel('Message').fill('are you there?')
      await page.keyboard.press('Enter')
      await page.locator('.turn').last().getByText('Try again in a moment').waitFor()
    } finally {
      world().server.setDown(false)
      await untilAnswered(world().stack.proxyUrl)
    }
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('Say something').waitFor()
  }, 60_000)
}

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
