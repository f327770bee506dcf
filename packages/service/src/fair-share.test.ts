import { expect, test } from 'bun:test'
import { FairShare } from './fair-share.ts'

const capacity = 1024
const take = (shares: FairShare, keyId: string, percent = 80) =>
  shares.take(keyId, capacity - shares.total, percent)

/** Keys that take all they can get, in turns, until none gets more. */
function fill(shares: FairShare, keyIds: readonly string[], percent?: number): number[] {
  const got = keyIds.map(() => 0)
  for (let more = true; more; ) {
    more = false
    for (const [index, keyId] of keyIds.entries()) {
      if (!take(shares, keyId, percent)) continue
      got[index] = (got[index] ?? 0) + 1
      more = true
    }
  }
  return got
}

test('a single key gets its percentage, and a later one still gets a share', () => {
  const shares = new FairShare()
  expect(fill(shares, ['greedy'])).toEqual([820])
  const [late] = fill(shares, ['late'])
  expect(late).toBe(164)
  expect(take(shares, 'last')).toBe(true)
})

test('greedy keys get equal shares, and together leave capacity free', () => {
  expect(fill(new FairShare(), ['one', 'two'])).toEqual([456, 455])
  const ten = fill(
    new FairShare(),
    Array.from({ length: 10 }, (_, index) => `key ${index}`),
  )
  expect(new Set(ten).size).toBeLessThanOrEqual(2)
  const sum = ten.reduce((all, each) => all + each)
  expect(sum).toBeGreaterThan(capacity * 0.95)
  expect(sum).toBeLessThan(capacity)
})

test('capacity released by a key is free again, for it and for others', () => {
  const shares = new FairShare()
  fill(shares, ['greedy'])
  shares.putBack('greedy')
  expect(take(shares, 'greedy')).toBe(true)
  expect(take(shares, 'greedy')).toBe(false)
  for (let count = 0; count < 820; count++) shares.putBack('greedy')
  expect(shares.total).toBe(0)
  expect(fill(shares, ['other'])).toEqual([820])
})

test('a key without requests is never refused for its share', () => {
  expect(new FairShare().take('key', 0, 80)).toBe(true)
  expect(new FairShare().take('key', -5, 80)).toBe(true)
})

test('a hundred percent means unlimited', () => {
  const shares = new FairShare()
  for (let count = 0; count < 2 * capacity; count++) expect(take(shares, 'key', 100)).toBe(true)
})
