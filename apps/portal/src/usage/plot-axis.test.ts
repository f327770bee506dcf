import { expect, test } from 'bun:test'
import { gridLines } from './plot-axis.ts'

test('the last line is the first one that no value exceeds', () => {
  for (const most of [0.003, 0.7, 1, 3, 7, 9.99, 10, 10.01, 86, 99, 101, 1234, 5_000_001, 3e12]) {
    const lines = gridLines(most, false)
    const [before = 0, last = 0] = lines.slice(-2)
    expect([most, last >= most, before < most]).toEqual([most, true, true])
    expect(lines.length).toBeGreaterThanOrEqual(3)
    expect(lines.length).toBeLessThanOrEqual(6)
    expect(lines[0]).toBe(0)
  }
})

test('lines are at round numbers', () => {
  expect(gridLines(1, false)).toEqual([0, 0.2, 0.4, 0.6000000000000001, 0.8, 1])
  expect(gridLines(1234, true)).toEqual([0, 500, 1000, 1500])
  expect(gridLines(86, true)).toEqual([0, 20, 40, 60, 80, 100])
})

test('an axis of requests has no fractions', () => {
  expect(gridLines(1, true)).toEqual([0, 1])
  expect(gridLines(2, true)).toEqual([0, 1, 2])
  expect(gridLines(7, true)).toEqual([0, 2, 4, 6, 8])
})

test('an empty plot has an axis, too', () => {
  for (const most of [0, -1, Number.NaN]) expect(gridLines(most, true)).toEqual([0, 1])
})
