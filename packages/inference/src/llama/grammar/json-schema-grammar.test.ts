/** What a schema's grammar accepts, according to llama.cpp's own matcher. */
import { afterAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { loadStories } from '../../../../../test/story-model.ts'
import { nativeModelOf } from '../model/native-binding.ts'
import { GrammarBuilder } from './gbnf.ts'
import { integerRange } from './integer-range.ts'
import { addSchema } from './json-schema-grammar.ts'

const model = await loadStories()
const native = nativeModelOf(model)
afterAll(() => model.llama.dispose())

function grammarOf(schema: unknown, strict = false) {
  const builder = new GrammarBuilder()
  const root = addSchema(builder, schema, strict)
  return native.createGrammar(builder.format(root))
}

const allows = (schema: unknown, value: unknown): boolean =>
  grammarOf(schema).accepts(JSON.stringify(value))

const person = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    nick: { type: 'string' },
    age: { type: 'integer', minimum: 0, maximum: 150 },
  },
  required: ['name', 'age'],
}

/** What `z.number().int()` compiles to. */
const zodInteger = { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 }

const cases: [string, unknown, unknown[], unknown[]][] = [
  ['any value', true, [1, 'x', [], {}, null, [{ a: [true] }]], []],
  ['string', { type: 'string' }, ['', 'caf\u00e9 "q" \\ \n'], [1, null]],
  ['lengths', { type: 'string', minLength: 2, maxLength: 3 }, ['ab', 'abc'], ['a', 'abcd']],
  ['enum', { enum: ['a', 1, null, { b: 2 }] }, ['a', 1, null, { b: 2 }], ['b', 2, {}]],
  ['const', { const: 'x"y' }, ['x"y'], ['xy']],
  ['types', { type: ['string', 'null'] }, ['x', null], [1]],
  ['boolean', { type: 'boolean' }, [true, false], ['true', 0]],
  ['number', { type: 'number' }, [0, -1.5, 1e25, 3], ['3', null]],
  ['number from zero', { type: 'number', minimum: 0 }, [0, 0.5, 12.25], [-1, -0.5]],
  ['number within', { type: 'number', minimum: 0, maximum: 1 }, [0, 0.5, 1], [1.5, 2, -1]],
  [
    'fractions',
    { type: 'number', minimum: 0.1, maximum: 0.9 },
    [0.1, 0.5, 0.15, 0.9],
    [0, 1, 0.05, 0.91, -0.5],
  ],
  ['a tiny number', { type: 'number', minimum: 1e-7 }, [0.000001, 1, 7.5], [0, -1]],
  ['positive', { type: 'number', exclusiveMinimum: 0 }, [0.001, 1, 12.5], [0, -1]],
  ['below', { type: 'number', maximum: 1.5 }, [1.5, 0, -20.25], [1.6, 2, 15]],
  ['below zero', { type: 'number', exclusiveMaximum: 0 }, [-0.01, -3], [0, 1]],
  ['around zero', { type: 'number', minimum: -1.5, maximum: 1 }, [-1.5, 0, 1], [-1.6, 1.1]],
  [
    'two bounds on a side',
    { type: 'integer', minimum: 10, exclusiveMinimum: 3, maximum: 20, exclusiveMaximum: 20 },
    [10, 19],
    [4, 20],
  ],
  ['any integer of Zod', zodInteger, [0, -7, zodInteger.maximum, zodInteger.minimum], [1.5, '1']],
  ['number of Zod', { ...zodInteger, type: 'number' }, [0, -7.5, 1e25], ['1']],
  ['integers far away', { type: 'integer', minimum: 9e15 }, [9e15, 9.5e15], [8e15, -9e15, 1]],
  ['no bound at all', { type: 'integer', minimum: -1e300, maximum: 1e300 }, [0, -5], ['0']],
  ['exclusive', { type: 'integer', exclusiveMinimum: 3, exclusiveMaximum: 6 }, [4, 5], [3, 6]],
  [
    'array',
    { type: 'array', items: { type: 'integer' }, minItems: 1, maxItems: 3 },
    [[1], [1, 2, 3]],
    [[], [1, 2, 3, 4], ['x']],
  ],
  ['empty array', { type: 'array', maxItems: 0 }, [[]], [[1]]],
  [
    'tuple',
    { prefixItems: [{ type: 'string' }, { type: 'integer' }] },
    [['a', 1]],
    [['a'], [1, 'a']],
  ],
  [
    'object',
    person,
    [
      { name: 'A', age: 1 },
      { name: 'A', nick: 'B', age: 150 },
    ],
    [{ name: 'A' }, { age: 1 }, { name: 'A', age: 151 }, { name: 'A', age: 1, x: 2 }, {}],
  ],
  [
    'optional properties in every combination',
    { type: 'object', properties: { a: { const: 1 }, b: { const: 2 }, c: { const: 3 } } },
    [{}, { a: 1 }, { b: 2 }, { c: 3 }, { a: 1, c: 3 }, { b: 2, c: 3 }, { a: 1, b: 2, c: 3 }],
    [{ d: 4 }, { a: 2 }],
  ],
  [
    'further properties',
    { type: 'object', properties: { a: { const: 1 } }, additionalProperties: { type: 'integer' } },
    [{}, { a: 1 }, { a: 1, b: 2 }, { b: 2, c: 3 }],
    [{ b: 'x' }, { a: 2 }, { b: 2, a: 2 }],
  ],
  [
    'further properties next to similar names',
    {
      properties: { ab: { const: 1 }, abc: { const: 1 }, 'q"': { const: 1 }, '': { const: 1 } },
      additionalProperties: { type: 'string' },
    },
    [
      ...[{ a: 'x' }, { abd: 'x' }, { abcd: 'x' }, { q: 'x' }, { 'q\\': 'x' }, { 'q"r': 'x' }],
      ...[
        { ab: 1, abc: 1, 'q"': 1, '': 1, ']^-\n\u00e9': 'x' },
        { b: 'x', '"': 'y' },
      ],
    ],
    [{ ab: 'x' }, { abc: 'x' }, { 'q"': 'x' }, { '': 'x' }, { ab: 1, abc: 1, ab2: 1 }],
  ],
  ['any object', { type: 'object' }, [{}, { x: [1] }], [[]]],
  ['anyOf', { anyOf: [{ type: 'null' }, person] }, [null, { name: 'A', age: 1 }], [1, {}]],
  [
    'allOf',
    { allOf: [person, { properties: { ok: { const: true } }, required: ['ok'] }] },
    [{ name: 'A', age: 1, ok: true }],
    [{ name: 'A', age: 1 }],
  ],
  [
    'recursion',
    {
      $ref: '#/$defs/t',
      $defs: { t: { type: 'object', properties: { n: { $ref: '#/$defs/t' } } } },
    },
    [{}, { n: {} }, { n: { n: {} } }],
    [{ m: 1 }],
  ],
  ['date', { type: 'string', format: 'date' }, ['2026-11-15'], ['2026-13-15', 'today']],
  ['uuid', { type: 'string', format: 'uuid' }, ['01234567-89ab-cdef-0123-456789abcdef'], ['x']],
  ['email', { type: 'string', format: 'email' }, ['ann.b@example.org'], ['ann', '@x.y']],
  ['an unknown format', { type: 'string', format: 'constructor' }, ['anything'], [1]],
  [
    'pattern',
    { type: 'string', pattern: '^[A-Z]{2}-\\d+(a|b)?$' },
    ['AB-1', 'ZZ-12b'],
    ['A-1', 'AB-', 'AB-1c'],
  ],
  ['pattern class', { type: 'string', pattern: '^[ -~]+$' }, ['plain text!'], ['tab\t', 'q"q', '']],
  ['negated class', { type: 'string', pattern: '[^a-c]+' }, ['xyz'], ['abc', '"']],
  ['no white space', { type: 'string', pattern: '^[\\S]+$' }, ['x', 'Sun'], ['', 'a b', '\u00a0']],
  ['no digits', { type: 'string', pattern: '^\\D[^\\s\\d]$' }, ['xy', 'Dd'], ['1y', 'x1', 'x ']],
  [
    'code points',
    { type: 'string', pattern: '^[\\u4e00-\\u9fa5]+$' },
    ['\u4e2d'],
    ['u', '4e', 'u4'],
  ],
  ['a code', { type: 'string', pattern: '^\\x41\\u0042$' }, ['AB'], ['x41']],
  ['tabs in a class', { type: 'string', pattern: '^[\\t ]+$' }, [' '], ['t', '\\']],
  ['a line break', { type: 'string', pattern: '^a\\nb\tc$' }, ['a\nb\tc'], ['anb', 'a b']],
  ['quotes in a pattern', { type: 'string', pattern: '"x"' }, ['"x"'], ['x']],
  [
    'names that need escapes',
    { type: 'object', properties: { 'a"\n': { const: 1 } } },
    [{ 'a"\n': 1 }],
    [{ a: 1 }],
  ],
]

const array = (items: unknown, more = {}) => ({ type: 'array', items, ...more })

describe('a schema', () => {
  test.each(cases)('%s allows what it should and nothing else', (_, schema, good, bad) => {
    for (const value of good) expect([value, allows(schema, value)]).toEqual([value, true])
    for (const value of bad) expect([value, allows(schema, value)]).toEqual([value, false])
  })

  test.each([
    [{ type: 'thing' }],
    [[]],
    [null],
    [{ properties: [] }],
    [{ type: 'object', properties: {}, required: ['a'] }],
    [{ type: 'object', properties: { 1: {} }, required: [1] }],
    [{ type: 'object', properties: {}, required: [{ toString: '' }] }],
    [{ $ref: 'https://example.org/schema' }],
    [{ $ref: '#/nowhere' }],
    [{ enum: [] }],
    [{ type: 'string', minLength: -1 }],
    [{ type: 'integer', minimum: 5, maximum: 4 }],
    [{ type: 'number', minimum: 5, maximum: 3 }],
    [{ type: 'number', minimum: 0.5, exclusiveMaximum: 0.5 }],
    [{ type: 'number', minimum: 1e-200 }],
    [{ anyOf: 3 }],
    [{ type: 'string', pattern: '(?=x)' }],
    [{ type: 'string', pattern: '(x' }],
    [{ type: 'string', pattern: 'a{3,1}' }],
    [{ type: 'string', pattern: '[\\p]' }],
    [{ type: 'string', pattern: '[\\b]' }],
    [{ type: 'string', pattern: '[a-\\d]' }],
    [{ type: 'string', pattern: '\\u12' }],
    [{ type: 'string', pattern: '[\\ud83d]' }],
    [{ allOf: [{ $ref: '#' }] }],
  ])('%j is refused', (schema) => {
    expect(() => grammarOf(schema)).toThrow()
  })

  test('is refused if strict enforcement is impossible, and enforced as far as possible otherwise', () => {
    const schema = { type: 'array', items: { type: 'integer' }, uniqueItems: true }
    expect(() => grammarOf(schema, true)).toThrow('uniqueItems')
    expect(allows(schema, [1, 1])).toBe(true)
  })

  test.each([{ pattern: '^a+$' }, { format: 'email' }])(
    'with %j is refused if it is strict and has a length as well',
    (more) => {
      const schema = { type: 'string', maxLength: 3, ...more }
      expect(() => grammarOf(schema, true)).toThrow('length')
      expect(() => grammarOf(schema)).not.toThrow()
      expect(() => grammarOf({ type: 'string', ...more }, true)).not.toThrow()
    },
  )

  test('that is huge or very deep is refused', () => {
    let deep: unknown = { type: 'null' }
    for (let at = 0; at < 100; at++) deep = { type: 'array', items: deep }
    expect(() => grammarOf(deep)).toThrow('deeper')
    expect(() => grammarOf({ enum: ['x'.repeat(300_000)] })).toThrow('larger')
  })

  /** Small schemas that ask for large grammars, or for much work without any. */
  const named = (count: number, value: unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, value]))
  const doubling = Object.fromEntries(
    Array.from({ length: 18 }, (_, at) => {
      const next = { $ref: at === 17 ? '#/leaf' : `#/a${at + 1}` }
      return [`a${at}`, { allOf: [next, next] }]
    }),
  )
  const wide = { properties: named(2000, true), required: Object.keys(named(2000, true)) }
  const long = { enum: Array.from({ length: 900 }, (_, at) => 'x'.repeat(100) + at) }
  const lengths = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, at) => ({ type: 'string', maxLength: from + at }))
  const integers = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ type: 'integer', minimum: at, maximum: 2 ** 52 }))
  const bombs: [string, unknown, string][] = [
    ['doubles', { ...doubling, leaf: { type: 'null' }, allOf: [{ $ref: '#/a0' }] }, 'too large'],
    ['copies', { wide, allOf: Array(1000).fill({ $ref: '#/wide' }) }, 'too large'],
    [
      'repeats',
      { long, prefixItems: Array(100).fill({ allOf: [{ $ref: '#/long' }] }) },
      'too large',
    ],
    ['counts', { prefixItems: lengths(980, 1000) }, 'too large'],
    ['counts integers', { prefixItems: integers(900) }, 'too large'],
    [
      'counts in groups',
      { prefixItems: lengths(990, 1000).map((items) => array(items, { maxItems: 1000 })) },
      'too large',
    ],
    [
      'names at length',
      { properties: { ['x'.repeat(100_000)]: {} }, additionalProperties: {} },
      'too large',
    ],
    ['counts oddly', { list: [true], prefixItems: [{ $ref: '#/list/00' }] }, 'points to nothing'],
    ['points far', { $ref: `#/${'a/'.repeat(1000)}` }, 'too long'],
    ['lists types', { type: Array(8).fill('null') }, 'type lists'],
  ]
  const follow = (_: string, schema: unknown, why: string) => {
    expect(() => grammarOf(schema)).toThrow(why)
  }
  test.each(bombs)('that %s to make much of little is refused, not followed', follow, 60_000)

  test('may repeat the same lengths in hundreds of properties', () => {
    const schema = { type: 'object', properties: named(900, { type: 'string', maxLength: 1000 }) }
    const builder = new GrammarBuilder()
    addSchema(builder, schema, false)
    expect(builder.format('r1').match(/char\{0,1000\}/g)).toHaveLength(1)
  })

  test('may have braces in its names and values', () => {
    const schema = { enum: Array.from({ length: 30 }, (_, at) => `{999}"${at}`) }
    expect(allows(schema, '{999}"7')).toBe(true)
  })
})

const self = { $ref: '#' }
const node = (kind: string, more = {}) => ({
  type: 'object',
  properties: { kind: { const: kind }, child: self, ...more },
  required: ['kind'],
})

test.each<[string, unknown]>([
  ['lists that begin alike', { anyOf: [array(self), array(self, { minItems: 1 })] }],
  ['objects that begin alike', { anyOf: [node('a'), node('a', { more: true })] }],
  [
    'alternatives of alternatives',
    { x: array(self), anyOf: [{ $ref: '#/x' }, { anyOf: [array(self), { type: 'null' }] }] },
  ],
])(
  '%s and contain themselves are refused: each level would double the ways to read it',
  (_, schema) => {
    expect(() => grammarOf(schema)).toThrow('too much alike')
  },
)

test('a schema that a text could match in more than 1,024 ways is refused', () => {
  const doubled = (levels: number) => {
    const level = (below: unknown) => ({ anyOf: [array(below), array(below, { minItems: 1 })] })
    const $defs: Record<string, unknown> = { l0: { type: 'integer' } }
    for (let at = 1; at <= levels; at++) $defs[`l${at}`] = level({ $ref: `#/$defs/l${at - 1}` })
    return { $defs, $ref: `#/$defs/l${levels}` }
  }
  expect(grammarOf(doubled(9)).accepts('[[[[[[[[[1]]]]]]]]]')).toBe(true)
  expect(() => grammarOf(doubled(12))).toThrow('too much alike')
})

test.each<[string, unknown, unknown]>([
  [
    'objects told apart by their first property',
    { anyOf: [node('a'), node('b')] },
    { kind: 'a', child: { kind: 'b' } },
  ],
  [
    'any JSON',
    {
      anyOf: [{ type: ['string', 'number', 'null'] }, array(self), { additionalProperties: self }],
    },
    { a: [1, { b: null }] },
  ],
  [
    'further properties of any kind',
    { properties: { a: self }, additionalProperties: true },
    { a: { a: {} }, b: [1] },
  ],
  [
    'further properties like the declared ones',
    { properties: { a: self }, additionalProperties: self },
    { a: { a: {} }, b: { a: { c: {} } } },
  ],
  ['a list of itself or nothing', { anyOf: [array(self), { type: 'null' }] }, [[null], []]],
])('a schema that contains itself is followed: %s', (_, schema, value) => {
  expect(allows(schema, value)).toBe(true)
})

test('a declared name cannot be written in another way to get another type', () => {
  const properties = { 'a/': { const: 1 }, '\u0001': { const: 1 } }
  const grammar = grammarOf({ properties, additionalProperties: { type: 'string' } })
  for (const key of ['\\u0061/', 'a\\/', 'a\\u002f', '\\u0001', '\u0001'])
    expect([key, grammar.accepts(`{"${key}": "x"}`)]).toEqual([key, false])
  expect(grammar.accepts('{"a/": 1, "\\u0001": 1, "b": "x"}')).toBe(true)
})

test('an integer range allows exactly its numbers', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -2000, max: 2000 }),
      fc.nat(3000),
      fc.array(fc.integer({ min: -3000, max: 6000 }), { maxLength: 30 }),
      (min, width, tried) => {
        const max = min + width
        const grammar = native.createGrammar(`root ::= ${integerRange(min, max)}\n`)
        for (const value of [...tried, min, max, min - 1, max + 1])
          expect([value, grammar.accepts(String(value))]).toEqual([
            value,
            value >= min && value <= max,
          ])
      },
    ),
    { numRuns: 60 },
  )
})

test('a number range allows exactly its numbers, however they are written', () => {
  const decimal = fc.integer({ min: -3000, max: 3000 }).map((value) => value / 100)
  const options = { numRuns: 150 }
  fc.assert(
    fc.property(
      fc.option(decimal, { nil: undefined }),
      fc.option(decimal, { nil: undefined }),
      fc.boolean(),
      fc.boolean(),
      fc.array(decimal, { maxLength: 30 }),
      (min, max, isOver, isUnder, tried) => {
        const isEmpty =
          min !== undefined &&
          max !== undefined &&
          (min > max || (min === max && (isOver || isUnder)))
        fc.pre(!isEmpty)
        const schema = {
          type: 'number',
          [isOver ? 'exclusiveMinimum' : 'minimum']: min,
          [isUnder ? 'exclusiveMaximum' : 'maximum']: max,
        }
        const grammar = grammarOf(schema)
        const near = [min, max].flatMap((at) =>
          at === undefined
            ? []
            : [-1, -0.1, -0.01, -0.001, 0, 0.001, 0.01, 0.1, 1].map((by) => at + by),
        )
        for (const given of [...tried, ...near]) {
          const value = Number(given.toFixed(4))
          const isIn =
            (min === undefined || (isOver ? value > min : value >= min)) &&
            (max === undefined || (isUnder ? value < max : value <= max))
          for (const text of [String(value), value.toFixed(4)])
            if (!/^-0\.?0*$/.test(text))
              expect([schema, text, grammar.accepts(text)]).toEqual([schema, text, isIn])
          expect(grammar.accepts(`${value}.`)).toBe(false)
        }
      },
    ),
    options,
  )
})

test('integers up to the last safe one, and not one more', () => {
  const grammar = grammarOf(zodInteger)
  for (const [text, isAllowed] of [
    ['9007199254740991', true],
    ['-9007199254740991', true],
    ['9007199254740992', false],
    ['-9007199254740992', false],
    ['9999999999999999', false],
    ['999999999999999', true],
  ] as const)
    expect([text, grammar.accepts(text)]).toEqual([text, isAllowed])
})

test('half-open integer ranges allow exactly their numbers', () => {
  for (const bound of [-100, -7, 0, 1, 9, 10, 99, 123]) {
    const up = native.createGrammar(`root ::= ${integerRange(bound, undefined)}\n`)
    const down = native.createGrammar(`root ::= ${integerRange(undefined, bound)}\n`)
    for (const value of [
      -1000, -101, -100, -8, -7, -6, -1, 0, 1, 5, 9, 10, 11, 99, 100, 123, 5000,
    ]) {
      expect([bound, value, up.accepts(String(value))]).toEqual([bound, value, value >= bound])
      expect([bound, value, down.accepts(String(value))]).toEqual([bound, value, value <= bound])
    }
  }
})
