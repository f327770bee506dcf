/**
 * Keeps capacity for others: no key fills a worker, or a gateway, by itself.
 *
 * A key may hold another request while it holds less than a multiple of what is left. So the
 * more is in use, the less each may hold, and a key that holds nothing is always admitted; one that is alone can have
 * `percent` of all. With 80, two keys can have 44% each and ten 9.8%, and a part always stays free.
 */
import { LimitError } from './limit-error.ts'

/** Requests of each key in one place. */
export class FairShare {
  readonly #held = new Map<string, number>()
  #total = 0

  get total(): number {
    return this.#total
  }

  /** Counts a request in; false if its key has its share. `left` is how many more fit. */
  take(keyId: string, left: number, percent: number): boolean {
    const held = this.#held.get(keyId) ?? 0
    // Who holds nothing is never over: what is full says so itself. 100 leaves nothing to keep free.
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

export function refuseShare(): LimitError {
  return new LimitError('rate_limit_exceeded', {
    message: 'this key has its share of what can run at once; the rest is kept for others',
    retryAfterMs: 1_000,
    fields: '',
  })
}
