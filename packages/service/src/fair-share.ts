/**
 * Reserves capacity for others: no key can fill a gateway, a worker or its engine by itself.
 *
 * A key may hold another request while it holds less than a multiple of what is left. So the more
 * is in use, the less each key may hold, and a key that holds nothing is always admitted; a key on
 * its own can have `percent` of everything. With 80, two keys can have 44% each and ten 9.8%, and a
 * part always stays free.
 */

/** Counts each key's requests in one place. */
export class FairShare {
  readonly #held = new Map<string, number>()
  #total = 0

  get total(): number {
    return this.#total
  }

  /** Counts a request; returns false if its key has used up its share. `left` is how many more fit. */
  take(keyId: string, left: number, percent: number): boolean {
    const held = this.#held.get(keyId) ?? 0
    // A key without requests is never over: a full worker refuses by itself. 100 reserves nothing.
    const isOver = held > 0 && percent < 100 && held * (100 - percent) >= left * percent
    if (isOver) return false
    this.#held.set(keyId, held + 1)
    this.#total++
    return true
  }

  putBack(keyId: string): void {
    const held = this.#held.get(keyId) ?? 0
    if (held > 1) this.#held.set(keyId, held - 1)
    else this.#held.delete(keyId)
    this.#total--
  }
}
