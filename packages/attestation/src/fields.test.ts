import { expect, test } from 'bun:test'
import { Fields, formatInstant } from './fields.ts'
import type { JsonObject } from './strict-json.ts'

const codes = {
  malformed: 'manifest_malformed',
  unknown: 'manifest_unsupported',
  remedy: 'do this',
} as const
const fieldsOf = (value: JsonObject) => new Fields(value, 'doc', codes)
const refused = (read: () => unknown, message: string, code = 'manifest_malformed') =>
  expect(read).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }))

test('only an object has fields', () => {
  for (const value of [null, [], 'text', 1, true]) {
    refused(() => new Fields(value, 'doc', codes), 'doc: not an object')
  }
})

test('a missing field is refused by name, even one that every object inherits', () => {
  refused(() => fieldsOf({}).value('a'), 'doc.a: missing')
  refused(() => fieldsOf({}).value('toString'), 'doc.toString: missing')
  expect(fieldsOf({}).optional('a', () => 1)).toBeUndefined()
  expect(fieldsOf({ a: 0 }).optional('a', (name) => name)).toBe('a')
})

test('an unread field is refused with the remedy', () => {
  const fields = fieldsOf({ a: 1, b: 2 })
  fields.integer('a')
  refused(() => fields.end(), 'doc: unknown field "b"; do this', 'manifest_unsupported')
  const plain = new Fields({ b: 1 }, 'doc', {
    malformed: 'bundle_malformed',
    unknown: 'bundle_malformed',
  })
  refused(() => plain.end(), 'doc: unknown field "b"', 'bundle_malformed')
})

test('unread fields inside objects and lists are refused as well', () => {
  const fields = fieldsOf({ a: { x: 1 }, list: [{ x: 1 }] })
  refused(() => fields.object('a', () => 0), 'doc.a: unknown field "x"', 'manifest_unsupported')
  const range = { min: 0, max: 1 }
  refused(() => fields.objects('list', range, () => 0), 'doc.list[0]', 'manifest_unsupported')
})

test('text has a bounded length and is printable', () => {
  expect(fieldsOf({ a: 'köln 京' }).text('a')).toBe('köln 京')
  expect(fieldsOf({ a: 'abc' }).text('a', 3)).toBe('abc')
  refused(() => fieldsOf({ a: 'abcd' }).text('a', 3), '4 characters, expected 1 to 3')
  refused(() => fieldsOf({ a: '' }).text('a'), '0 characters')
  refused(() => fieldsOf({ a: 1 }).text('a'), 'not a string')
  for (const hidden of ['a\nb', 'a\u0000', 'a\u202eb', 'a\u200bb', 'a\u2028b', '\u007f']) {
    refused(() => fieldsOf({ a: hidden }).text('a'), 'not printable')
  }
  refused(() => fieldsOf({ a: 'b' }).matching('a', /^a$/, 'the letter a'), 'expected the letter a')
})

test('integers are whole, safe and in their range', () => {
  const range = { min: 2, max: 4 }
  expect(fieldsOf({ a: 4 }).integer('a', range)).toBe(4)
  for (const value of [1, 5]) {
    refused(() => fieldsOf({ a: value }).integer('a', range), 'expected 2 to 4')
  }
  for (const value of [1.5, '1', true, 2 ** 53, null]) {
    refused(() => fieldsOf({ a: value }).integer('a'), 'not an integer')
  }
  refused(() => fieldsOf({ a: -1 }).integer('a'), '-1, expected 0')
})

test('booleans and choices must be exactly one of the allowed values', () => {
  expect(fieldsOf({ a: false }).boolean('a')).toBe(false)
  for (const value of [0, 'true', null]) {
    refused(() => fieldsOf({ a: value }).boolean('a'), 'not true or false')
  }
  expect(fieldsOf({ a: 'x' }).choice('a', ['x', 'y'])).toBe('x')
  refused(() => fieldsOf({ a: 'z' }).choice('a', ['x', 'y']), 'expected x or y')
})

test('hex and base64 have a fixed length and one encoding', () => {
  expect(fieldsOf({ a: '00ff' }).hex('a', 2)).toBe('00ff')
  for (const value of ['00FF', '00f', '00ff00', '', 'zzzz']) {
    refused(() => fieldsOf({ a: value }).hex('a', 2), 'expected 2 bytes in lower-case hex')
  }
  refused(() => fieldsOf({ a: 1 }).hex('a', 2), 'not a string')
  expect(fieldsOf({ a: 'AAE=' }).base64('a', 2)).toEqual(Uint8Array.of(0, 1))
  expect(fieldsOf({ a: 'AAE=' }).base64('a', { max: 3 })).toEqual(Uint8Array.of(0, 1))
  refused(() => fieldsOf({ a: 'AAE=' }).base64('a', 3), '2 bytes, expected 3')
  refused(() => fieldsOf({ a: 'AAE=' }).base64('a', { max: 1 }), '2 bytes, expected at most 1')
  refused(() => fieldsOf({ a: 'AAE' }).base64('a', 2), 'not base64')
  refused(() => fieldsOf({ a: 1 }).base64('a', 2), 'not a string')
})

test('an instant is in UTC, in whole seconds, and exists', () => {
  const text = '2028-02-29T23:59:59Z'
  const instant = fieldsOf({ a: text }).instant('a')
  expect(instant).toEqual(new Date(text))
  expect(formatInstant(instant)).toBe(text)
  for (const value of ['2026-02-03', '2026-02-03T00:00:00+01:00', '2026-02-03T00:00:00.5Z', 1]) {
    refused(() => fieldsOf({ a: value }).instant('a'), 'expected a time')
  }
  for (const value of ['2026-02-30T00:00:00Z', '2026-13-01T00:00:00Z', '2026-01-01T24:00:00Z']) {
    refused(() => fieldsOf({ a: value }).instant('a'), 'no such time')
  }
})

test('lists have a bounded length', () => {
  const range = { min: 1, max: 2 }
  expect(fieldsOf({ a: [1, 2] }).array('a', range, (item, path) => [item, path])).toEqual([
    [1, 'doc.a[0]'],
    [2, 'doc.a[1]'],
  ])
  refused(() => fieldsOf({ a: [] }).array('a', range, () => 0), '0 items, expected 1 to 2')
  refused(() => fieldsOf({ a: [1, 2, 3] }).array('a', range, () => 0), '3 items')
  refused(() => fieldsOf({ a: {} }).array('a', range, () => 0), 'not an array')
})
