/** Rules for decimal numbers between two bounds, digit by digit. */
import { naturals } from './integer-range.ts'

export type Bound = { readonly value: number; readonly isExclusive: boolean }

/** The digits after a point: the alternatives, and whether there may be none. */
type Digits = { readonly some: readonly string[]; readonly mayEnd: boolean }

/** Each decimal of a bound is a level of nested rules. */
const maxDecimals = 30

/**
 * A rule body for all numbers between the bounds, written without an exponent; undefined if there
 * are none. `more` is the name of a rule for some digits.
 */
export function numberRange(
  min: Bound | undefined,
  max: Bound | undefined,
  more: string,
): string | undefined {
  const parts: string[] = []
  if (min === undefined || min.value < 0) {
    const isBelow = max !== undefined && max.value < 0
    const least = isBelow ? negated(max) : { value: 0, isExclusive: true }
    const sizes = magnitudes(least, min && negated(min), more)
    if (sizes.length > 0) parts.push(`"-" (${sizes.join(' | ')})`)
  }
  if (max === undefined || max.value >= 0) {
    const isAbove = min !== undefined && min.value >= 0
    parts.push(...magnitudes(isAbove ? min : { value: 0, isExclusive: false }, max, more))
  }
  return parts.length === 0 ? undefined : parts.join(' | ')
}

const negated = ({ value, isExclusive }: Bound): Bound => ({ value: -value, isExclusive })

function magnitudes(low: Bound, high: Bound | undefined, more: string): string[] {
  const from = split(low.value)
  const to = high && split(high.value)
  if (high !== undefined && high.value < low.value) return []
  const digits = new FractionDigits(more, low.isExclusive, high?.isExclusive ?? false)
  if (from.whole === to?.whole)
    return withFraction(`"${from.whole}"`, digits.between(from.fraction, to.fraction))
  const first = from.whole + 1
  const last = to && to.whole - 1
  const between = last === undefined || first <= last ? [`(${naturals(first, last)})`] : []
  return [
    ...withFraction(`"${from.whole}"`, digits.from(from.fraction)),
    ...between.flatMap((whole) => withFraction(whole, digits.any)),
    ...(to ? withFraction(`"${to.whole}"`, digits.upTo(to.fraction)) : []),
  ]
}

function withFraction(whole: string, { some, mayEnd }: Digits): string[] {
  if (some.length === 0) return mayEnd ? [whole] : []
  return [`${whole} ("." (${some.join(' | ')}))${mayEnd ? '?' : ''}`]
}

/** Bounds here are the digits of a fraction without zeros at the end. */
class FractionDigits {
  readonly any: Digits
  readonly #isOver: boolean
  readonly #isUnder: boolean

  constructor(more: string, isOver: boolean, isUnder: boolean) {
    this.any = { some: [more], mayEnd: true }
    this.#isOver = isOver
    this.#isUnder = isUnder
  }

  from(low: string): Digits {
    if (low === '' && !this.#isOver) return this.any
    if (low === '') return { some: [`[0]{0,15} [1-9] ${this.#rest}`], mayEnd: false }
    const digit = Number(low[0])
    const some = [...digitBefore(digit, this.from(low.slice(1))), ...this.#middle(digit, 10)]
    return { some, mayEnd: false }
  }

  upTo(high: string): Digits {
    if (high === '') return this.#isUnder ? none : { some: ['[0]{1,16}'], mayEnd: true }
    const digit = Number(high[0])
    const some = [...this.#middle(-1, digit), ...digitBefore(digit, this.upTo(high.slice(1)))]
    return { some, mayEnd: true }
  }

  between(low: string, high: string): Digits {
    if (low === '' && !this.#isOver) return this.upTo(high)
    if (high === '') return none
    const [from, to] = [Number(low[0] ?? 0), Number(high[0])]
    const [lowRest, highRest] = [low.slice(1), high.slice(1)]
    const some =
      from === to
        ? digitBefore(from, this.between(lowRest, highRest))
        : [
            ...digitBefore(from, this.from(lowRest)),
            ...this.#middle(from, to),
            ...digitBefore(to, this.upTo(highRest)),
          ]
    return { some, mayEnd: false }
  }

  get #rest(): string {
    return `${this.any.some[0]}?`
  }

  /** Digits strictly between these: what follows them does not matter. */
  #middle(over: number, under: number): string[] {
    return over + 1 < under ? [`[${over + 1}-${under - 1}] ${this.#rest}`] : []
  }
}

const none: Digits = { some: [], mayEnd: false }

function digitBefore(digit: number, { some, mayEnd }: Digits): string[] {
  if (some.length === 0) return mayEnd ? [`"${digit}"`] : []
  return [`"${digit}" (${some.join(' | ')})${mayEnd ? '?' : ''}`]
}

/** Throws a RangeError for more decimals than a grammar can check. */
function split(value: number): { whole: number; fraction: string } {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [whole = '', decimals = ''] = mantissa.split('.')
  const zeros = Math.max(0, -Number(exponent))
  const shifted = zeros === 0 ? decimals : '0'.repeat(zeros - 1) + whole + decimals
  const fraction = shifted.replace(/0+$/, '')
  if (fraction.length > maxDecimals) throw new RangeError(`more than ${maxDecimals} decimals`)
  return { whole: zeros === 0 ? Number(whole) : 0, fraction }
}
