/** The store of evaluated prompts: looked up by salt and content, bounded, resistant to flooding. */
import { expect, test } from 'bun:test'
import { blockTokens, PrefixStore } from './prefix-store.ts'
import { SealedMemory } from './sealed-memory.ts'

const tokens = (blocks: number, first = 0): number[] =>
  Array.from({ length: blocks * blockTokens }, (_, at) => first + at)
const sealed = (bytes: number) => ({ id: 0, chunks: [], bytes })
const storeOf = (limitBytes: number) => new PrefixStore(new SealedMemory(), limitBytes)

test('a prefix is found under its own key only', () => {
  const store = storeOf(100)
  store.add(store.chainOf('mine', tokens(3)), sealed(10))
  expect(store.find(store.chainOf('mine', tokens(3)))?.sharedTokens).toBe(3 * blockTokens)
  expect(store.find(store.chainOf('theirs', tokens(3)))).toBeUndefined()
})

test('the longest common prefix counts, block by block', () => {
  const store = storeOf(100)
  store.add(store.chainOf('k', tokens(2)), sealed(10))
  store.add(store.chainOf('k', [...tokens(3), ...tokens(2, 9000)]), sealed(10))
  const wanted = [...tokens(3), ...tokens(4, 5000)]
  expect(store.find(store.chainOf('k', wanted))?.sharedTokens).toBe(3 * blockTokens)
  expect(store.find(store.chainOf('k', tokens(4, 7)))).toBeUndefined()
})

test('a longer prefix replaces the shorter ones that it contains', () => {
  const store = storeOf(100)
  store.add(store.chainOf('k', tokens(2)), sealed(10))
  store.add(store.chainOf('k', tokens(4)), sealed(20))
  expect(store.size).toBe(1)
  expect(store.bytes).toBe(20)
  expect(store.covers(store.chainOf('k', tokens(3)))).toBe(true)
  expect(store.covers(store.chainOf('k', tokens(5)))).toBe(false)
})

test('the size never exceeds the limit, and the oldest entry is evicted first', () => {
  const store = storeOf(100)
  for (let at = 0; at < 10; at++) store.add(store.chainOf(`k${at}`, tokens(1)), sealed(30))
  expect(store.bytes).toBeLessThanOrEqual(100)
  expect(store.find(store.chainOf('k0', tokens(1)))).toBeUndefined()
  expect(store.find(store.chainOf('k9', tokens(1)))).toBeDefined()
  store.add(store.chainOf('huge', tokens(1)), sealed(101))
  expect(store.find(store.chainOf('huge', tokens(1)))).toBeUndefined()
})

test('a flood of fresh salts does not evict reused prefixes', () => {
  const store = storeOf(100)
  store.add(store.chainOf('mine', tokens(2)), sealed(60))
  store.markReused(store.find(store.chainOf('mine', tokens(2)))!.prefix)
  for (let at = 0; at < 50; at++) store.add(store.chainOf(`fresh${at}`, tokens(1)), sealed(20))
  expect(store.find(store.chainOf('mine', tokens(2)))).toBeDefined()
})

test('prefixes reused long ago are evicted eventually', () => {
  const store = storeOf(100)
  for (const key of ['a', 'b', 'c', 'd']) {
    store.add(store.chainOf(key, tokens(1)), sealed(25))
    store.markReused(store.find(store.chainOf(key, tokens(1)))!.prefix)
  }
  store.add(store.chainOf('new', tokens(1)), sealed(25))
  expect(store.find(store.chainOf('a', tokens(1)))).toBeUndefined()
  expect(store.find(store.chainOf('new', tokens(1)))).toBeDefined()
})

test('less than a block is never stored', () => {
  const store = storeOf(100)
  expect(store.chainOf('k', [1, 2, 3])).toEqual([])
  expect(store.covers([])).toBe(false)
})
