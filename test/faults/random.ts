/** Seeded randomness: everything a campaign draws comes from here. */
import { seededShare } from '../../packages/attestation/src/testing/seeded-bits.ts'

export type Chance = {
  /** From 0 up to, not including, 1. */
  next(): number
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number
  pick<T>(values: readonly T[]): T
  shuffle<T>(values: readonly T[]): T[]
}

export function createChance(seed: number): Chance {
  const next = seededShare(seed)
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
