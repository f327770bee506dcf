import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { utf8 } from './bytes.ts'
import { parseJson } from './strict-json.ts'

const limits = { what: 'document', code: 'manifest_malformed', maxBytes: 1 << 20 } as const
const parse = (text: string) => parseJson(utf8(text), limits)
const refused = expect.objectContaining({ code: 'manifest_malformed' })

test('every document that JSON.stringify writes is parsed as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (text) => {
      expect(JSON.stringify(parse(text))).toBe(JSON.stringify(JSON.parse(text)))
    }),
  )
})

test('whatever JSON.parse refuses is refused', () => {
  const parts = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"a"',
    ':',
    ',',
    '1',
    '-',
    '.5',
    'e3',
    'null',
    '\\',
    '"',
    ' ',
  )
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 12 }), (tokens) => {
      const text = tokens.join('')
      let valid = true
      try {
        JSON.parse(text)
      } catch {
        valid = false
      }
      if (!valid) expect(() => parse(text)).toThrow(refused)
    }),
    { numRuns: 3000 },
  )
})

test('a duplicate name is refused, even when it is spelled with an escape', () => {
  expect(() => parse('{"a":1,"a":1}')).toThrow(refused)
  expect(() => parse('{"a":1,"\\u0061":2}')).toThrow(refused)
  expect(() => parse('[{"x":{"__proto__":1,"__proto__":2}}]')).toThrow(refused)
})

test('members named like properties of Object are only names', () => {
  const value = parse('{"__proto__":{"a":1},"constructor":2}') as { [name: string]: unknown }
  expect(Object.keys(value)).toEqual(['__proto__', 'constructor'])
  expect(Object.getPrototypeOf(value)).toBe(null)
})

test('bytes that are not UTF-8, a byte-order mark and half a surrogate pair are refused', () => {
  expect(() => parseJson(Uint8Array.of(0x22, 0xff, 0x22), limits)).toThrow(refused)
  expect(() => parseJson(Uint8Array.of(0xef, 0xbb, 0xbf, 0x31), limits)).toThrow(refused)
  expect(() => parse('"\\ud800"')).toThrow(refused)
  expect(parse('"\\ud83d\\ude00"')).toBe('😀')
})

test('size and depth have limits', () => {
  expect(() => parseJson(utf8('[1, 2]'), { ...limits, maxBytes: 5 })).toThrow(refused)
  expect(() => parse('['.repeat(17) + ']'.repeat(17))).toThrow(refused)
  expect(() => parse('['.repeat(100_000))).toThrow(refused)
  expect(() => parse('1e999')).toThrow(refused)
  expect(parse(JSON.stringify('x\\"'.repeat(100_000)))).toBe('x\\"'.repeat(100_000))
})

test('an unterminated string is refused as such', () => {
  for (const text of ['"a', '"', '["a\\"]'])
    expect(() => parse(text)).toThrow('a string has no end')
})
