/** Waits for an event that must happen, and fails if it does not. */
import { expect } from 'bun:test'

export async function until(isTrue: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !isTrue() && Date.now() < end; ) await Bun.sleep(5)
  expect(isTrue()).toBe(true)
}
