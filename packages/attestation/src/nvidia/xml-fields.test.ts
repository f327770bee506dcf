import { expect, test } from 'bun:test'
import { utf8 } from '../bytes.ts'
import { readAttributes, readText } from './xml-fields.ts'
import { parseXml } from './xml-reader.ts'

const malformed = { code: 'collateral_malformed' }

test('exactly the expected attributes are read', () => {
  const element = parseXml(utf8('<e a="1" b="2"/>'))
  expect(readAttributes(element, ['a', 'b'])).toEqual({ a: '1', b: '2' })
  for (const names of [['a'], ['a', 'b', 'c']]) {
    expect(() => readAttributes(element, names)).toThrow(expect.objectContaining(malformed))
  }
})

test('an element inside a text is refused', () => {
  expect(readText(parseXml(utf8('<e>one</e>')))).toBe('one')
  const nested = parseXml(utf8('<e>one<f/>two</e>'))
  expect(() => readText(nested)).toThrow(expect.objectContaining(malformed))
})
