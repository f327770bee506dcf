/** Reproducible pseudo-random numbers (mulberry32): small, and good enough for tests. */

/** Each call returns the next 32 bits as an unsigned number. */
export function seededBits(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
}

/** Each call returns the next number in [0, 1). */
export function seededShare(seed: number): () => number {
  const next = seededBits(seed)
  return () => next() / 2 ** 32
}
