import { expect, test } from 'bun:test'
import { paddedRequestLength, padmeLength } from './padding.ts'

test('Padmé lengths are at most 12 % longer, and there are far fewer of them', () => {
  const lengths = new Set<number>()
  for (let length = 1000; length < 100_000; length += 7) {
    const padded = padmeLength(length)
    expect(padded).toBeGreaterThanOrEqual(length)
    expect(padded / length).toBeLessThan(1.12)
    lengths.add(padded)
  }
  expect(lengths.size).toBeLessThan(150)
})

test('conversations have few request lengths: powers of four, then steps of one size', () => {
  const lengthsOf = (shape: 'default' | 'strict') => {
    const lengths = new Set<number>()
    for (let length = 1; length < 700_000; length += 97) {
      expect(paddedRequestLength(length, shape)).toBeGreaterThanOrEqual(length)
      lengths.add(paddedRequestLength(length, shape) / 1024)
    }
    return [...lengths]
  }
  expect(lengthsOf('default')).toEqual([4, 16, 64, 256, 512, 768])
  expect(lengthsOf('strict')).toEqual([64, 256, 1024])
})

test('a long conversation keeps its request length for many turns', () => {
  const turns = Array.from({ length: 20 }, (_, turn) => 80_000 + turn * 4_000)
  const lengths = new Set(turns.map((length) => paddedRequestLength(length, 'default')))
  expect(lengths.size).toBe(1)
})

test('unshaped requests have Padmé lengths, and very long ones cost little more', () => {
  expect(paddedRequestLength(10, 'off')).toBe(1024)
  expect(paddedRequestLength(1025, 'off')).toBe(padmeLength(1025))
  expect(paddedRequestLength(10_000_001, 'default') / 10_000_001).toBeLessThan(1.03)
  expect(paddedRequestLength(10_000_001, 'strict') / 10_000_001).toBeLessThan(1.11)
})
