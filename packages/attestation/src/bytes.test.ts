import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { equalBytes, formatBase64, formatHex, parseBase64, parseHex } from './bytes.ts'

test('hex and base64 round-trip', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      expect(formatBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'))
      expect(parseBase64(formatBase64(bytes))).toEqual(new Uint8Array(bytes))
      expect(parseHex(formatHex(bytes))).toEqual(new Uint8Array(bytes))
    }),
  )
})

test('a non-canonical encoding of the same bytes is refused', () => {
  for (const text of ['AA', 'AA=', 'AB==', 'AAB=', 'A===', '=AAA', 'AA==AAAA', 'A-_A', ' AAAA']) {
    expect(parseBase64(text)).toBeUndefined()
  }
  for (const text of ['AA', 'a', 'gg', ' aa', '0x']) expect(parseHex(text)).toBeUndefined()
})

test('byte strings are equal only with equal length and content', () => {
  expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 2))).toBe(true)
  expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 3))).toBe(false)
  expect(equalBytes(Uint8Array.of(1), Uint8Array.of(1, 0))).toBe(false)
})
