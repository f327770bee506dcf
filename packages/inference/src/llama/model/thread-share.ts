/** Divides the cores among the contexts that are computing. */

/**
 * llama.cpp's threads wait for each other by spinning, so one thread too many costs far more than
 * it gains.
 */
export class ThreadShare {
  readonly #total: number
  #active = 0

  constructor(total: number) {
    this.#total = Math.max(1, Math.floor(total))
  }

  /** Runs one computation with its fair share of threads. */
  async use<T>(compute: (threads: number) => Promise<T>): Promise<T> {
    this.#active++
    try {
      return await compute(Math.max(1, Math.floor(this.#total / this.#active)))
    } finally {
      this.#active--
    }
  }
}
