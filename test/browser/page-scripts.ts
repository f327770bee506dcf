/** Scripts that run inside the page, as text, because tests are typed without a browser's globals. */
import { expect } from 'bun:test'
import type { Page } from 'playwright-core'

/** Pages update a frame or two after an action: polls until the value is right, for up to thirty seconds. */
export async function settled<T>(
  read: () => Promise<T>,
  isRight: (value: T) => boolean,
): Promise<T> {
  for (let wait = 0; wait < 1500; wait++) {
    const value = await read()
    if (isRight(value)) return value
    await Bun.sleep(20)
  }
  return read()
}

export async function untilIs(read: () => Promise<string>, wanted: string): Promise<void> {
  expect(await settled(read, (value) => value === wanted)).toBe(wanted)
}

export const ground = (page: Page): Promise<string> =>
  page.evaluate('getComputedStyle(document.documentElement).backgroundColor')

/** The text of the element that has the focus. */
export const focused = (page: Page): Promise<string> =>
  page.evaluate('document.activeElement?.textContent ?? ""')

/** The label of the input that has the focus. */
export const focusedLabel = (page: Page): Promise<string> =>
  page.evaluate('document.activeElement?.labels?.[0]?.textContent ?? ""')

/** By how many pixels the page is wider than the screen; a phone's own `innerWidth` would grow with it. */
export const overflow = async (page: Page): Promise<number> => {
  const width = await page.evaluate<number>('document.documentElement.scrollWidth')
  return Math.max(0, width - (page.viewportSize()?.width ?? 0))
}

/** Tables wider than their container, whose buttons would be cut off. */
export const cutTables = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('.table')]
    .filter((room) => room.scrollWidth > room.clientWidth)
    .map((room) => room.textContent.slice(0, 80))`)

/** Goes to another page of the portal as its own links do. */
export const goTo = (page: Page, path: string): Promise<void> =>
  page.evaluate(`{
    history.pushState(null, '', ${JSON.stringify(path)})
    dispatchEvent(new PopStateEvent('popstate'))
  }`)

/** How long transitions of all elements last, and their animations. */
export const motions = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('*')].map((element) => {
    const { transitionDuration, animationName } = getComputedStyle(element)
    return transitionDuration + ' ' + animationName
  })`)

/** Which part of a plot is painted in the colour of its first series. */
export const paintedShare = (page: Page, title: string): Promise<number> =>
  page.evaluate(`(() => {
    const card = document.querySelector('[aria-label=${JSON.stringify(title)}]')
    const canvas = card.querySelector('canvas')
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data
    const colour = getComputedStyle(card.querySelector('.chip')).color.match(/\\d+/g).map(Number)
    let painted = 0
    for (let at = 0; at < pixels.length; at += 4) {
      if (colour.every((value, index) => pixels[at + index] === value)) painted++
    }
    return painted / (pixels.length / 4)
  })()`)

export type Answer = { readonly status: number; readonly body: unknown }

/** Calls the admin API as the page would, including its token, to test permissions. */
export function callAdmin(
  page: Page,
  method: string,
  path: string,
  options: { readonly body?: unknown; readonly token?: boolean } = {},
): Promise<Answer> {
  const { body, token = true } = options
  const sent = body === undefined ? '' : `, body: ${JSON.stringify(JSON.stringify(body))}`
  return page.evaluate(`(async () => {
    const base = '/privatemode/v1/admin'
    const session = await (await fetch(base + '/session')).json()
    const headers = { 'content-type': 'application/json' }
    if (${token}) headers['x-csrf-token'] = session.csrf_token
    const response = await fetch(base + ${JSON.stringify(path)}, {
      method: ${JSON.stringify(method)}, headers${sent}
    })
    return { status: response.status, body: await response.json() }
  })()`)
}
