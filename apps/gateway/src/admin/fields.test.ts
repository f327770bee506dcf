/** Every field of an admin request accepts valid values, and names itself when it refuses. */
import { expect, test } from 'bun:test'
import {
  email,
  type Field,
  flag,
  limitsField,
  nullable,
  oneOf,
  optional,
  parseFieldTable,
  secret,
  text,
  time,
  wholeNumber,
} from './fields.ts'

const long = (length: number) => 'x'.repeat(length)
const day = '2030-01-31T00:00:00Z'

test.each<[string, Field<unknown>, readonly unknown[], readonly unknown[]]>([
  ['text', text(2, 4), ['ab', ' abcd '], ['a', ' a ', 'abcde', 7, null]],
  [
    'text that cannot deceive a terminal, a table or an eye',
    text(1, 9),
    ['Äpfel 🍏', '日本', 'x-y_z'],
    [
      'a\0b',
      'a\nb',
      'a\r\nb',
      '\x1b[31mred',
      'a\x9bm',
      'a\u2028b',
      '\u202egpj.exe',
      '\ud800',
      'a\u200bb',
      'a\ufeffb',
    ],
  ],
  [
    'email in letters of its own',
    email(),
    ['straße@b'],
    ['v\u0130ctim@b', 'a\ud800@b', 'a\u202eb@b', 'a\u200b@b', 'a\u200d@b'],
  ],
  ['secret', secret(4), ['a', ' a '], ['', 'abcde', 7]],
  ['email', email(), ['a@b'], ['a', '@b', 'a@', 'a b@c', 'a@b@c', `${long(253)}@b`, 7]],
  ['oneOf', oneOf('up', 'down'), ['up'], ['UP', 'toString', '', 7]],
  ['flag', flag(), [true, 'true', false, 'false'], ['yes', 1, 0, '']],
  ['wholeNumber', wholeNumber(1, 9), [1, 9, '5'], [0, 10, '10', 1.5, '-1', '', Number.NaN]],
  [
    'time',
    time(),
    [day, '2030-01-31'],
    ['2030-13-01', 'tomorrow', '5', 5, '0000-01-01', '9999-12-31T23:59:59-01:00'],
  ],
  ['limits', limitsField(), [{ tokens_per_month: 5 }, {}], [[], 'none', { tokens: 5 }]],
])('%s', (_, field, good, bad) => {
  for (const value of good)
    expect(() => parseFieldTable({ it: field }, { it: value })).not.toThrow()
  for (const value of bad) {
    const refused = expect.objectContaining({ code: 'invalid_value' })
    expect(() => parseFieldTable({ it: field }, { it: value })).toThrow(refused)
  }
})

test('values are converted to their types', () => {
  const table = { name: text(1, 9), on: flag(), count: wholeNumber(0, 9), at: time() }
  const given = { name: ' a ', on: 'false', count: '7', at: day }
  const expected = { name: 'a', on: false, count: 7, at: new Date(day) }
  expect(parseFieldTable(table, given)).toEqual(expected)
})

test('a body is an object with only known names and all required ones', () => {
  const table = { needed: text(1, 9), free: optional(text(1, 9)), empty: nullable(text(1, 9)) }
  const expected = { needed: 'a', free: undefined, empty: null }
  expect(parseFieldTable(table, { needed: 'a', empty: null })).toEqual(expected)
  for (const body of [null, 'text', ['a'], undefined]) {
    expect(() => parseFieldTable(table, body)).toThrow('the body must be a JSON object')
  }
  const unknown = { code: 'invalid_value', param: 'toString' }
  expect(() => parseFieldTable(table, { needed: 'a', toString: 1 })).toThrow(
    expect.objectContaining(unknown),
  )
  const missing = { code: 'missing_parameter', param: 'needed' }
  expect(() => parseFieldTable(table, {})).toThrow(expect.objectContaining(missing))
})
