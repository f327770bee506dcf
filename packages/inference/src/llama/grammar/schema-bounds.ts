/** Validates the numeric bounds in a JSON Schema. */
import type { JsonObject } from '../../engine.ts'
import type { Bound } from './number-range.ts'
import { invalidSchema } from './schema-root.ts'

/** The smallest and the largest integer that a schema allows. */
export function integerBounds(schema: JsonObject): [number | undefined, number | undefined] {
  const [least, most] = bounds(schema)
  const min = least && (least.isExclusive ? Math.floor(least.value) + 1 : Math.ceil(least.value))
  const max = most && (most.isExclusive ? Math.ceil(most.value) - 1 : Math.floor(most.value))
  if (min !== undefined && max !== undefined && max < min) throw nothingFits()
  return [min, max]
}

/**
 * The smallest and the largest number that a schema allows. What Zod writes for any integer is no
 * bound for numbers, which may be larger.
 */
export function numberBounds(schema: JsonObject): [Bound | undefined, Bound | undefined] {
  const [min, max] = bounds(schema)
  return [
    min !== undefined && min.value <= -greatest ? undefined : min,
    max !== undefined && max.value >= greatest ? undefined : max,
  ]
}

export const nothingFits = () => invalidSchema('no number fits its bounds')

/** If there are two bounds on a side, the narrower one applies. */
function bounds(schema: JsonObject): [Bound | undefined, Bound | undefined] {
  const over = lowerBound(schema.exclusiveMinimum)
  const under = upperBound(schema.exclusiveMaximum)
  const least = lowerBound(schema.minimum)
  const most = upperBound(schema.maximum)
  const isOver = over !== undefined && over >= (least ?? over)
  const isUnder = under !== undefined && under <= (most ?? under)
  return [bound(isOver ? over : least, isOver), bound(isUnder ? under : most, isUnder)]
}

const bound = (value: number | undefined, isExclusive: boolean): Bound | undefined =>
  value === undefined ? undefined : { value, isExclusive }

/** Rules are exact up to ±(2^53 − 1), which is what Zod writes for any integer. */
const greatest = Number.MAX_SAFE_INTEGER

/** A bound below all numbers that the rules can distinguish excludes none of them. */
function lowerBound(value: unknown): number | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'number' || value > greatest) throw invalidBound()
  return value < -greatest ? undefined : value
}

function upperBound(value: unknown): number | undefined {
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
