/** Schemas at a limit and beyond it; each limit is there because more has stopped a model server. */
import type { JsonObject } from '../engine.ts'

export type CostlyForm = {
  readonly name: string
  readonly most: JsonObject
  readonly more: JsonObject
  readonly refusal: string
}

export const costlyForms: readonly CostlyForm[] = [
  {
    name: 'a chain of references',
    most: chain(250),
    more: chain(1000),
    refusal: 'too many references',
  },
  {
    name: 'references to deep schemas',
    most: chain(20, { levels: 40 }),
    more: chain(50, { levels: 40 }),
    refusal: 'too many references',
  },
  {
    name: 'items',
    most: items({ minItems: 1_000_000 }),
    more: items({ minItems: 1_000_000_000 }),
    refusal: 'more than 1000000 in all',
  },
  {
    name: 'items of a list that may be shorter',
    most: items({ minItems: -5, maxItems: 1_000_000 }),
    more: items({ minItems: -5, maxItems: 1_000_001 }),
    refusal: 'more than 1000000 in all',
  },
  {
    name: 'a divisor',
    most: divisors(99_999),
    more: divisors(100_001),
    refusal: 'common multiple above 100000',
  },
  {
    name: 'several divisors',
    most: divisors(9, 5, 1000, 0.25, 1e-7),
    more: divisors(9973, 9967, 9949, 9941),
    refusal: 'common multiple above 100000',
  },
  {
    name: 'a divisor with many digits',
    most: divisors(0),
    more: divisors(1.00001),
    refusal: 'common multiple above 100000',
  },
  {
    name: 'parentheses of a pattern',
    most: pattern(`${'('.repeat(4095)}a${')'.repeat(4095)}`),
    more: pattern(`${'('.repeat(5000)}a${')'.repeat(5000)}`),
    refusal: 'a pattern or a name of over 8192',
  },
  {
    name: 'a pattern for names',
    most: object({ patternProperties: { ['a'.repeat(8192)]: {} } }),
    more: object({ patternProperties: { ['a'.repeat(8193)]: {} } }),
    refusal: 'a pattern or a name of over 8192',
  },
]

type Chain = { readonly name?: string; readonly end?: JsonObject; readonly levels?: number }

/** One definition refers to the next, from some levels below it. */
export function chain(
  length: number,
  { name = 'd', end = { type: 'null' }, levels = 1 }: Chain = {},
): JsonObject {
  const next = (i: number): JsonObject => {
    let schema: JsonObject = i < length ? { $ref: `#/$defs/${name}${i}` } : end
    for (let level = 0; level < levels; level++)
      schema = { type: 'object', properties: { a: schema }, required: ['a'] }
    return schema
  }
  const $defs = Object.fromEntries(
    Array.from({ length }, (_, i) => [`${name}${i}`, next(i + 1)] as const),
  )
  return object({ $defs, properties: { a: { $ref: `#/$defs/${name}0` } } })
}

export function items(bounds: JsonObject): JsonObject {
  return object({ properties: { a: { type: 'array', items: { type: 'integer' }, ...bounds } } })
}

function divisors(...values: readonly number[]): JsonObject {
  const allOf = values.map((multipleOf) => ({ type: 'integer', multipleOf }))
  return object({ properties: { a: { allOf } } })
}

function pattern(pattern: string): JsonObject {
  return object({ properties: { a: { type: 'string', pattern } } })
}

function object(fields: JsonObject): JsonObject {
  return { type: 'object', required: ['a'], ...fields }
}
