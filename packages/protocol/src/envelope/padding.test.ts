import { expect, test } from 'bun:test'
import { paddedRequestLength, padmeLength } from './padding.ts'

test('Padmé lengths are at most 12 % longer and far fewer', () => {
  const lengths = new Set<number>()
  for (let length = 1000; length < 100_000; length += 7) {
    const padded = padmeLength(length)
    expect(padded).toBeGreaterThanOrEqual(length)
    expect(padded / length).toBeLessThan(1.12)
    lengths.add(padded)
  }
  expect(lengths.size).toBeLessThan(150)
})

test('requests of conversations have few lengths: powers of two by default, of four if strict', () => {
  const lengthsOf = (shape: 'default' | 'strict') => {
    const lengths = new Set<number>()
    for (let length = 1; length < 60_000; length += 11) {
      expect(paddedRequestLength(length, shape)).toBeGreaterThanOrEqual(length)
      lengths.add(paddedRequestLength(length, shape))
    }
    return [...lengths]
  }
  expect(lengthsOf('default')).toEqual([2048, 4096, 8192, 16384, 32768, 65536])
  expect(lengthsOf('strict')).toEqual([16384, 65536])
})

test('requests that are not shaped, or very long, have Padmé lengths', () => {
  expect(paddedRequestLength(10, 'off')).toBe(1024)
  expect(paddedRequestLength(1025, 'off')).toBe(padmeLength(1025))
  expect(paddedRequestLength(10_000_001, 'strict')).toBe(padmeLength(10_000_001))
  expect(paddedRequestLength(70_000, 'default')).toBe(padmeLength(70_000))
})
