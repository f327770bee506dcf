import { expect, test } from 'bun:test'
import { createPaddingDrains } from './padding-drains.ts'

function connection() {
  const seen = { abandoned: 0, resumed: 0 }
  return { seen, abandon: () => void seen.abandoned++, resume: () => void seen.resumed++ }
}

test('padding is read to its end, even if a slow client had paused it', () => {
  const drains = createPaddingDrains({ count: 10, bytes: 1000, ms: 60_000 })
  const one = connection()
  const drain = drains.begin(one)
  drain.read(1000)
  expect(drains.open()).toBe(1)
  drain.end()
  expect(drains.open()).toBe(0)
  expect(one.seen).toEqual({ abandoned: 0, resumed: 1 })
  drains.stop()
})

test('padding over the limit, or too many answers at once, is no longer read', () => {
  const drains = createPaddingDrains({ count: 2, bytes: 1000, ms: 60_000 })
  const [long, other, third] = [connection(), connection(), connection()]
  const drain = drains.begin(long)
  drains.begin(other)
  drains.begin(third)
  expect(third.seen.abandoned).toBe(1)
  drain.read(1001)
  expect(long.seen.abandoned).toBe(1)
  expect(other.seen.abandoned).toBe(0)
  expect(drains.open()).toBe(1)
  drains.stop()
})

test('padding that takes longer than the limit is abandoned', async () => {
  let nowMs = 0
  const drains = createPaddingDrains({ count: 2, bytes: 1000, ms: 60 }, () => nowMs)
  const slow = connection()
  drains.begin(slow)
  nowMs = 61
  while (slow.seen.abandoned === 0) await Bun.sleep(1)
  expect(drains.open()).toBe(0)
  drains.stop()
})
