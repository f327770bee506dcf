/** The slope of a series with its confidence interval, for series with correlated neighbours. */

export type Slope = {
  readonly mean: number
  readonly perHour: number
  /** Half of the 95% interval. */
  readonly plusMinus: number
  readonly verdict: 'growth' | 'no growth' | 'none shown' | 'too short to say'
}

/** Below this share of the mean an hour, a slope is no growth that anyone could notice in a month. */
const noticeable = 0.01
/** A whole interval below this share an hour is called no growth; a wider one shows none, and no more. */
const certain = 0.1
const fewest = 10
const fewestIndependent = 5

/**
 * Least squares. Consecutive residuals are correlated, which makes the usual interval too narrow:
 * the number of points is reduced by their correlation, (1 - r) / (1 + r).
 */
export function slopeOf(points: readonly (readonly [hours: number, value: number])[]): Slope {
  const n = points.length
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / n
  const mean = points.reduce((sum, [, y]) => sum + y, 0) / n
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  if (n < fewest || spread === 0) {
    return { mean, perHour: 0, plusMinus: Number.POSITIVE_INFINITY, verdict: 'too short to say' }
  }
  const perHour = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - mean), 0) / spread
  const residuals = points.map(([x, y]) => y - mean - perHour * (x - meanX))
  const squares = residuals.reduce((sum, each) => sum + each ** 2, 0)
  const independent = Math.max(
    fewestIndependent,
    (n * (1 - likeness(residuals))) / (1 + likeness(residuals)),
  )
  const error = Math.sqrt(squares / Math.max(1, independent - 2) / ((spread / n) * independent))
  const plusMinus = error * studentT(independent - 2)
  return { mean, perHour, plusMinus, verdict: judgeSlope(Math.abs(mean), perHour, plusMinus) }
}

function judgeSlope(mean: number, perHour: number, plusMinus: number): Slope['verdict'] {
  if (perHour - plusMinus > mean * noticeable) return 'growth'
  return perHour + plusMinus < mean * certain ? 'no growth' : 'none shown'
}

/** The correlation of neighbours, from 0 to nearly 1. */
function likeness(residuals: readonly number[]): number {
  const squares = residuals.reduce((sum, each) => sum + each ** 2, 0)
  if (squares === 0) return 0
  const products = residuals.slice(1).reduce((sum, each, i) => sum + each * residuals[i]!, 0)
  return Math.min(0.98, Math.max(0, products / squares))
}

/** The 97.5% point of Student's distribution, close enough from one degree of freedom on. */
function studentT(freedom: number): number {
  const z = 1.96
  const v = Math.max(1, freedom)
  return z + (z ** 3 + z) / (4 * v) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * v ** 2)
}
