/** The portal's quick start as a visitor uses it: chooses, and copies what is shown. */
import type { Page } from 'playwright-core'
import { open } from './portal-world.ts'

export const ways = ['Through a proxy of yours', 'Without a proxy'] as const

/** What to do, in the page's words, and the text to copy for it. */
export type ShownStep = { readonly do: string; readonly text: string }

export async function readSteps(page: Page, way: string, client: string): Promise<ShownStep[]> {
  await open(page, 'Quick start')
  await page.getByRole('radio', { name: way }).check()
  await page.getByLabel('Client').selectOption(client)
  const makeKey = page.getByRole('button', { name: 'Create a key for these snippets' })
  if ((await makeKey.count()) > 0) {
    await makeKey.click()
    await page.getByText('contain your new key').waitFor()
  }
  const texts = await page.locator('.snippet pre').allTextContents()
  const words = await page.locator('.snippet li > p').allTextContents()
  return texts.map((text, index) => ({ do: words[index] ?? '', text }))
}
