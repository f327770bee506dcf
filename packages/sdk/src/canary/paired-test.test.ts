import { expect, test } from 'bun:test'
import { chanceOfSmaller, median } from './paired-test.ts'

test('pairs that all differ in one direction have the smallest possible probability', () => {
  const [quick, slow] = [
    [1, 2, 3, 4, 5],
    [11, 12, 13, 14, 15],
  ]
  expect(chanceOfSmaller(quick, slow)).toBe(1 / 32)
  expect(chanceOfSmaller(slow, quick)).toBe(1)
})

test('equal values are no evidence', () => {
  expect(chanceOfSmaller([5, 5, 5], [5, 5, 5])).toBe(1)
})

test('the result equals the share of all swaps that are as extreme, counted one by one', () => {
  const [a, b] = [
    [3, 9, 1, 7, 7, 2, 30],
    [4, 8, 5, 7, 11, 6, 3],
  ]
  const all = [...a, ...b]
  const rank = (value: number) =>
    all.filter((other) => other < value).length + (all.filter((o) => o === value).length + 1) / 2
  const gap = (swaps: number) =>
    a.reduce((sum, _, i) => {
      const [x, y] = (swaps >> i) & 1 ? [b[i]!, a[i]!] : [a[i]!, b[i]!]
      return sum + rank(y) - rank(x)
    }, 0)
  const clear = Array.from({ length: 128 }, (_, swaps) => gap(swaps)).filter((sum) => sum >= gap(0))
  expect(chanceOfSmaller(a, b)).toBeCloseTo(clear.length / 128, 12)
})

test('one stalled request does not hide what the others show', () => {
  const quick = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 9000]
  const slow = quick.map((_, i) => 100 + i)
  expect(chanceOfSmaller(quick, slow)).toBeLessThan(0.001)
})

test('samples that do not pair up are refused', () => {
  expect(() => chanceOfSmaller([1], [1, 2])).toThrow('do not form pairs')
  expect(() => chanceOfSmaller([], [])).toThrow('do not form pairs')
})

test('the median of an even count is the mean of the middle two', () => {
  expect(median([4, 1, 3, 2])).toBe(2.5)
  expect(median([9, 1, 5])).toBe(5)
})
