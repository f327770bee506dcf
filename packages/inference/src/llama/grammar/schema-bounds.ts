/** Validates the numeric bounds in a JSON Schema. */
import type { JsonObject } from '../../engine.ts'
import { invalidSchema } from './schema-root.ts'

/** The smallest and the largest integer that a schema allows. */
export function integerBounds(schema: JsonObject): [number | undefined, number | undefined] {
  const over = lowerBound(schema.exclusiveMinimum)
  const under = upperBound(schema.exclusiveMaximum)
  const least = lowerBound(schema.minimum)
  const most = upperBound(schema.maximum)
  const min =
    over === undefined ? (least === undefined ? undefined : Math.ceil(least)) : Math.floor(over) + 1
  const max =
    under === undefined ? (most === undefined ? undefined : Math.floor(most)) : Math.ceil(under) - 1
  if (min !== undefined && max !== undefined && max < min)
    throw invalidSchema('no number fits its bounds')
  return [min, max]
}

/** Rules are exact up to ±(2^53 − 1), which is what Zod writes for any integer. */
const greatest = Number.MAX_SAFE_INTEGER

/** A bound below all numbers that the rules can distinguish excludes none of them. */
export function lowerBound(value: unknown): number | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'number' || value > greatest) throw invalidBound()
  return value < -greatest ? undefined : value
}

export function upperBound(value: unknown): number | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'number' || value < -greatest) throw invalidBound()
  return value > greatest ? undefined : value
}

const invalidBound = () => invalidSchema(`a bound must be a number within ${greatest}`)

export function count(value: unknown): number | undefined {
  if (value === undefined) return undefined
  if (!Number.isInteger(value) || (value as number) < 0)
    throw invalidSchema('a length must be a whole number')
  return value as number
}
