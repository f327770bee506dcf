/** Chance that a seed repeats: everything a campaign draws comes from here. */

export type Chance = {
  /** From 0 up to, not including, 1. */
  next(): number
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number
  pick<T>(values: readonly T[]): T
  shuffle<T>(values: readonly T[]): T[]
}

/** Mulberry32: small, and good enough to choose faults with. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1))
  return {
    next,
    between,
    pick: (values) => values[between(0, values.length - 1)]!,
    shuffle(values) {
      const all = [...values]
      for (let last = all.length - 1; last > 0; last--) {
        const other = between(0, last)
        ;[all[last], all[other]] = [all[other]!, all[last]!]
      }
      return all
    },
  }
}
