import { expect, test } from 'bun:test'
import { thrown } from '../../../../test/rejection.ts'
import { HashQueue } from './hash-queue.ts'

const lane = (name: string, isKnown = false) => ({ name, isKnown })

/** Work that ends on demand and records the order of turns. */
function scripted(queue: HashQueue) {
  const order: string[] = []
  const ends: (() => void)[] = []
  const start = (name: string, isKnown = false) => {
    const turn = queue.enter(lane(name, isKnown))
    const done = turn
      .run(() => {
        order.push(name)
        return new Promise<void>((resolve) => ends.push(resolve))
      })
      .finally(turn.end)
    return done
  }
  /** Ends the oldest running work, and lets the next one start. */
  const finish = async () => {
    ends.shift()?.()
    for (let tick = 0; tick < 10; tick++) await Promise.resolve()
  }
  return { order, start, finish }
}

test('lanes take turns, however many wait in one of them', async () => {
  const { order, start, finish } = scripted(new HashQueue({ running: 1, perLane: 4, total: 16 }))
  const all = ['a', 'a', 'a', 'a', 'b', 'b', 'c'].map((name) => start(name))
  for (let count = 0; count < 7; count++) await finish()
  await Promise.all(all)
  expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'a'])
})

test('known callers go before unknown ones', async () => {
  const { order, start, finish } = scripted(new HashQueue({ running: 1, perLane: 4, total: 16 }))
  const all = [start('a'), start('b'), start('c'), start('link', true)]
  for (let count = 0; count < 4; count++) await finish()
  await Promise.all(all)
  expect(order).toEqual(['a', 'link', 'b', 'c'])
})

test('unknown callers get every fourth turn while known ones wait', async () => {
  const { order, start, finish } = scripted(new HashQueue({ running: 1, perLane: 4, total: 16 }))
  const known = ['k', 'k', 'k', 'k', 'l', 'l', 'l', 'l'].map((name) => start(name, true))
  const all = [...known, start('a'), start('b')]
  for (let count = 0; count < 10; count++) await finish()
  await Promise.all(all)
  expect(order.indexOf('a')).toBe(4)
  expect(order.indexOf('b')).toBe(8)
})

test('one lane, and all unknown callers together, have a bounded number of slots', async () => {
  const queue = new HashQueue({ running: 1, perLane: 2, total: 3 })
  const turns = [queue.enter(lane('a')), queue.enter(lane('a'))]
  expect(() => queue.enter(lane('a'))).toThrow('concurrent sign-ins from here')
  turns.push(queue.enter(lane('b')))
  expect(() => queue.enter(lane('c'))).toThrow('too many people')
  turns.push(queue.enter(lane('link', true))) // unknown callers do not take these slots
  for (const turn of turns) turn.end()
  turns[0]?.end() // ending twice frees only one slot
  for (const name of ['a', 'a', 'b']) queue.enter(lane(name))
  expect(() => queue.enter(lane('d'))).toThrow('too many people')
})

test('work that fails frees its slot', async () => {
  const queue = new HashQueue({ running: 1, perLane: 2, total: 2 })
  const turn = queue.enter(lane('a'))
  expect(await thrown(turn.run(() => Promise.reject(new Error('no memory'))))).toThrow('no memory')
  expect(await turn.run(async () => 'next')).toBe('next')
})
