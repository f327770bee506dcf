import { expect, spyOn, test } from 'bun:test'
import { encodeText } from '@privatemode/protocol/envelope'
import { outgoing } from '../testing/sealed-stream.ts'
import { sealShaped } from './seal-shaped.ts'
import { alignTick, untilTick } from './shared-ticks.ts'
import { shapeOf } from './traffic-shape.ts'

test('a moment becomes the next of five phases of the tick, never an earlier one', () => {
  expect([100, 100.1, 104.9, 105, 111].map((ms) => alignTick(ms, 25))).toEqual([
    100, 105, 105, 105, 115,
  ])
  expect(alignTick(101, 50)).toBe(110)
})

test('waiters for the same moment share a timer, and a past moment does not wait', async () => {
  const due = alignTick(performance.now() + 20, 5)
  const first = untilTick(due)
  expect(first).toBeInstanceOf(Promise)
  expect(untilTick(due)).toBe(first)
  expect(untilTick(due + 1)).not.toBe(first)
  await first
  expect(untilTick(due - 5)).toBeUndefined()
})

test('streams share few clocks, whenever they begin', async () => {
  const timers = spyOn(globalThis, 'setTimeout')
  const shape = { ...shapeOf('default').stream!, leastUnits: 2 }
  const pieces = async function* () {
    yield encodeText('one')
  }
  const frames: number[] = []
  // All are created before the first begins: on a slow machine they would otherwise begin far apart.
  const ready = await Promise.all(Array.from({ length: 40 }, outgoing))
  const streams = ready.map(async (out, at) => {
    frames[at] = 0
    await sealShaped(out, pieces(), shape, () => void frames[at]!++)
  })
  await Promise.all(streams)
  const made = timers.mock.calls.length
  timers.mockRestore()
  // The first piece, one tick, the end.
  expect(frames).toEqual(Array.from({ length: 40 }, () => 3))
  expect(made).toBeGreaterThan(0)
  expect(made).toBeLessThan(20)
})
