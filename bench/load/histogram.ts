/** Times in buckets of about 1% width: quantiles of millions of values in little memory. */

const perOctave = 64
const octaves = 40

/** Holds values from 1 to 2^40 in any unit; smaller ones count as 1. */
export class Histogram {
  readonly #counts = new Uint32Array(perOctave * octaves)
  #size = 0
  #most = 0

  get size(): number {
    return this.#size
  }

  add(value: number): void {
    const at = value <= 1 ? 0 : Math.floor(Math.log2(value) * perOctave)
    const bucket = Math.min(at, this.#counts.length - 1)
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#size++
    if (value > this.#most) this.#most = value
  }

  /** The middle of the bucket that contains the quantile; 0 if nothing was added. */
  quantile(part: number): number {
    const rank = Math.ceil(part * this.#size)
    let seen = 0
    for (const [at, count] of this.#counts.entries()) {
      seen += count
      if (seen >= rank && count > 0) return Math.min(this.#most, 2 ** ((at + 0.5) / perOctave))
    }
    return 0
  }

  get most(): number {
    return this.#most
  }
}
