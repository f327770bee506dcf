/** Remembers ids for at least a given time, and forgets them within twice that time. */

export type RecentIdsOptions = {
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly leastMs: number
  /** Beyond this number, further ids are not remembered. */
  readonly most: number
}

export class RecentIds {
  readonly #options: RecentIdsOptions
  #newer = new Set<string>()
  #older = new Set<string>()
  #sinceMs: number

  constructor(options: RecentIdsOptions) {
    this.#options = options
    this.#sinceMs = options.clock()
  }

  add(id: string): void {
    this.#age()
    if (this.#newer.size + this.#older.size < this.#options.most) this.#newer.add(id)
  }

  has(id: string): boolean {
    return this.#newer.has(id) || this.#older.has(id)
  }

  #age(): void {
    const nowMs = this.#options.clock()
    if (nowMs - this.#sinceMs < this.#options.leastMs) return
    // After a long pause, the older ones of both are too old.
    this.#older = nowMs - this.#sinceMs < 2 * this.#options.leastMs ? this.#newer : new Set()
    this.#newer = new Set()
    this.#sinceMs = nowMs
  }
}
