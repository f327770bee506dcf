/** Random numbers that come again with the same seed, so that a study can be repeated. */

export type Random = {
  /** From 0 up to, not including, 1. */
  next(): number
  pick<T>(from: readonly T[]): T
  /** Normal, mean 0, deviation 1. */
  normal(): number
}

export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    // A Weyl sequence through a 32-bit mixer: plenty for choosing words, nothing for secrets.
    state = (state + 0x9e3779b9) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
  return {
    next,
    pick(from) {
      const found = from[Math.floor(next() * from.length)]
      if (found === undefined) throw new RangeError('there is nothing to pick from')
      return found
    },
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
  }
}
