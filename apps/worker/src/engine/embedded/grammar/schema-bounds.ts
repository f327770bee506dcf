/** Numbers in a JSON Schema that bound something, checked. */
import type { JsonObject } from '../../engine.ts'
import { invalidSchema } from './schema-root.ts'

/** The least and the greatest whole number that a schema allows. */
export function integerBounds(schema: JsonObject): [number | undefined, number | undefined] {
  const over = bound(schema.exclusiveMinimum)
  const under = bound(schema.exclusiveMaximum)
  const least = bound(schema.minimum)
  const most = bound(schema.maximum)
  const min =
    over === undefined ? (least === undefined ? undefined : Math.ceil(least)) : Math.floor(over) + 1
  const max =
    under === undefined ? (most === undefined ? undefined : Math.floor(most)) : Math.ceil(under) - 1
  if (min !== undefined && max !== undefined && max < min)
    throw invalidSchema('no number fits its bounds')
  return [min, max]
}

export function bound(value: unknown): number | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'number' || Math.abs(value) > 1e15)
    throw invalidSchema('a bound must be a number within 1e15')
  return value
}

export function count(value: unknown): number | undefined {
  if (value === undefined) return undefined
  if (!Number.isInteger(value) || (value as number) < 0)
    throw invalidSchema('a length must be a whole number')
  return value as number
}
