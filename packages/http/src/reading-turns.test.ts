import { expect, test } from 'bun:test'
import { ReadingTurns, type Sender } from './reading-turns.ts'

/** Senders that record which of them may be read. */
function senders(count: number) {
  const open = new Set<number>(Array.from({ length: count }, (_, index) => index))
  const all = Array.from(
    { length: count },
    (_, index): Sender => ({
      pause: () => void open.delete(index),
      resume: () => void open.add(index),
    }),
  )
  return { all, open }
}

test('while few clients send, none is paused', () => {
  const turns = new ReadingTurns()
  const { all, open } = senders(4)
  for (let round = 0; round < 5; round++) for (const sender of all) turns.took(sender)
  expect(open.size).toBe(4)
  for (const sender of all) turns.leave(sender)
})

test('of many senders, four are read at a time, and each gets its turn', () => {
  const turns = new ReadingTurns()
  const { all, open } = senders(20)
  for (const sender of all) turns.took(sender)
  expect(open.size).toBe(4)
  const read = new Map<number, number>()
  for (let turn = 0; turn < 100; turn++) {
    const [next = 0] = open
    read.set(next, (read.get(next) ?? 0) + 1)
    open.delete(next)
    open.add(next) // the next turn of the event loop
    turns.took(all[next]!)
    expect(open.size).toBe(4)
  }
  expect([...read.values()].filter((count) => count >= 4).length).toBe(20)
  for (const sender of all) turns.leave(sender)
})

test('a sender that leaves or falls silent makes way for the next, and is not paused itself', async () => {
  const turns = new ReadingTurns()
  const { all, open } = senders(6)
  for (const sender of all) turns.took(sender)
  expect([...open].sort()).toEqual([0, 1, 2, 3])
  turns.leave(all[0]!)
  expect(open.has(4)).toBe(true)
  // All are silent now: the last one waits no longer than the patience.
  for (const end = Date.now() + 10_000; open.size < 6 && Date.now() < end; ) await Bun.sleep(5)
  expect(open.size).toBe(6)
  for (const sender of all) turns.leave(sender)
})
