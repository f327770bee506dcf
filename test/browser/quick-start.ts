/** The portal's quick start as a visitor uses it: chooses, and copies what is shown. */
import type { Page } from 'playwright-core'
import { open } from './portal-world.ts'

export const ways = ['Connect through your own proxy', 'Without a proxy'] as const

/** What to do, in the page's words, and the text to copy for it. */
export type ShownStep = { readonly do: string; readonly text: string }

export async function readSteps(page: Page, way: string, client: string): Promise<ShownStep[]> {
  await open(page, 'Quick start')
  await page.getByRole('radio', { name: way }).check()
  await page.getByLabel('Client').selectOption(client)
  if (way === 'Without a proxy') {
    const makeKey = page.getByRole('button', { name: 'Create a key for these snippets' })
    const made = page.getByText('contain your new key')
    await makeKey.or(made).waitFor()
    if (await makeKey.isVisible()) await makeKey.click()
    await made.waitFor()
  }
  const texts = await page.locator('.snippet pre').allTextContents()
  const words = await page.locator('.snippet li > p').allTextContents()
  return texts.map((text, index) => ({ do: words[index] ?? '', text }))
}
