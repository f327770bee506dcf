import { expect, test } from 'bun:test'
import { RecentIds } from './recent-ids.ts'

test('ids are known for the given time, and no longer than twice that', () => {
  let nowMs = 0
  const ids = new RecentIds({ clock: () => nowMs, leastMs: 100, most: 10 })
  const passMs = (ms: number, id: string) => {
    nowMs += ms
    ids.add(id)
  }
  ids.add('first')
  passMs(99, 'second')
  passMs(1, 'third')
  expect(['first', 'second', 'third'].map((id) => ids.has(id))).toEqual([true, true, true])
  passMs(100, 'fourth')
  expect(['first', 'second', 'third'].map((id) => ids.has(id))).toEqual([false, false, true])
  passMs(200, 'fifth')
  expect(['third', 'fourth', 'fifth'].map((id) => ids.has(id))).toEqual([false, false, true])
})

test('only so many are remembered', () => {
  const ids = new RecentIds({ clock: () => 0, leastMs: 100, most: 2 })
  for (const id of ['first', 'second', 'third']) ids.add(id)
  expect(['first', 'second', 'third'].map((id) => ids.has(id))).toEqual([true, true, false])
})
