/** Half floats and Q8_0 against their definitions. */
import { expect, test } from 'bun:test'
import { floatFromHalf, halfFromFloat, quantiseQ8, widenHalves } from './number-formats.ts'

test('every half float survives the conversion to float32 and back', () => {
  for (let half = 0; half < 0x10000; half++) {
    const value = floatFromHalf(half)
    if (Number.isNaN(value)) continue
    expect(halfFromFloat(value)).toBe(half)
  }
})

test.each([
  [1, 0x3c00],
  [-2, 0xc000],
  [65504, 0x7bff],
  [65520, 0x7c00],
  [2 ** -24, 0x0001],
  [2 ** -25, 0x0000],
  [1 + 2 ** -11, 0x3c00],
  [1 + 3 * 2 ** -11, 0x3c02],
])('%p rounds to the nearest half float, ties to even', (value, half) => {
  expect(halfFromFloat(value)).toBe(half)
})

test('widening keeps every value', () => {
  const wide = widenHalves(Uint8Array.of(0x00, 0x3c, 0x00, 0xc0))
  expect([...new Float32Array(wide.buffer)]).toEqual([1, -2])
})

test('Q8_0 scales a block by its largest value', () => {
  const values = Float32Array.from({ length: 32 }, (_, i) => i - 15.5)
  const block = quantiseQ8(values)
  const view = new DataView(block.buffer)
  const scale = floatFromHalf(view.getUint16(0, true))
  expect(scale).toBeCloseTo(16.5 / 127 - 1 / 127, 3)
  for (let i = 0; i < 32; i++)
    expect(Math.abs(view.getInt8(2 + i) * scale - values[i]!)).toBeLessThanOrEqual(scale * 0.51)
})

test('a block of zeros stays zero', () => {
  expect(quantiseQ8(new Float32Array(32)).every((byte) => byte === 0)).toBe(true)
})

test('a length that is not a multiple of the block is refused', () => {
  expect(() => quantiseQ8(new Float32Array(33))).toThrow(RangeError)
})
