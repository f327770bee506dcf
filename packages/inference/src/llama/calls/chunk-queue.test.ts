/** Passing chunks from a generator to its reader. */
import { expect, test } from 'bun:test'
import { thrown } from '../../../../../test/rejection.ts'
import { ChunkQueue } from './chunk-queue.ts'

test('chunks arrive in order, including those pushed while the reader waits', async () => {
  const queue = new ChunkQueue<number>(() => {})
  queue.push(1)
  const reading = Array.fromAsync(queue)
  await Promise.resolve()
  queue.push(2)
  queue.push(3)
  queue.done()
  expect(await reading).toEqual([1, 2, 3])
})

test('a failure is delivered after the chunks before it', async () => {
  const queue = new ChunkQueue<number>(() => {})
  queue.push(1)
  queue.fail(new Error('broken'))
  const reader = queue[Symbol.asyncIterator]()
  expect((await reader.next()).value).toBe(1)
  expect(await thrown(reader.next())).toThrow('broken')
})

test('the generator is notified of a reader that leaves early, and only then', async () => {
  let left = 0
  const early = new ChunkQueue<number>(() => left++)
  early.push(1)
  for await (const _ of early) break
  expect(left).toBe(1)
  const whole = new ChunkQueue<number>(() => left++)
  whole.push(1)
  whole.done()
  await Array.fromAsync(whole)
  expect(left).toBe(1)
})
