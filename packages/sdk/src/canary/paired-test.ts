/** An exact test of whether one of two paired samples is smaller. */

/**
 * The probability of a result at least this extreme if both values of each pair come from the same
 * distribution.
 *
 * All values are ranked together; then the values of each pair are swapped or not, in every
 * combination, and the combinations are counted in which `smaller` is as far below `larger` as
 * observed. Nothing is assumed about the distribution or about drift from pair to pair; ranks keep
 * one stalled request from deciding the result.
 */
export function chanceOfSmaller(smaller: readonly number[], larger: readonly number[]): number {
  if (smaller.length !== larger.length || smaller.length === 0) {
    throw new RangeError(`${smaller.length} and ${larger.length} values do not form pairs`)
  }
  const ranks = doubledRanks([...smaller, ...larger])
  const gaps = smaller.map((_, pair) => (ranks[smaller.length + pair] ?? 0) - (ranks[pair] ?? 0))
  const seen = gaps.reduce((sum, gap) => sum + gap, 0)
  const farthest = gaps.reduce((sum, gap) => sum + Math.abs(gap), 0)
  // chances[farthest + sum] is the probability of that sum after the pairs so far.
  let chances = new Float64Array(2 * farthest + 1)
  chances[farthest] = 1
  let reach = 0
  for (const gap of gaps) {
    const next = new Float64Array(chances.length)
    for (let at = farthest - reach; at <= farthest + reach; at++) {
      const chance = chances[at] ?? 0
      if (chance === 0) continue
      next[at + gap] = (next[at + gap] ?? 0) + chance / 2
      next[at - gap] = (next[at - gap] ?? 0) + chance / 2
    }
    chances = next
    reach += Math.abs(gap)
  }
  const asClear = chances.subarray(farthest + seen).reduce((sum, chance) => sum + chance, 0)
  return Math.min(1, asClear)
}

/** Equal values share the mean of their ranks; ranks are doubled so that sums stay integers. */
function doubledRanks(values: readonly number[]): number[] {
  const order = values.map((_, index) => index).sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0))
  const ranks = values.map(() => 0)
  for (let start = 0; start < order.length; ) {
    let end = start + 1
    while (end < order.length && values[order[end] ?? 0] === values[order[start] ?? 0]) end++
    for (const index of order.slice(start, end)) ranks[index] = start + end + 1
    start = end
  }
  return ranks
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  const upper = sorted[Math.floor(middle)] ?? Number.NaN
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? Number.NaN) + upper) / 2 : upper
}
