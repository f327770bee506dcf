/**
 * This gateway's share of what one key or account may use per minute.
 *
 * The database hands out allowance in small portions, so that most requests need no round trip and
 * all gateways together never exceed the limit. Portions are half a percent of the limit, and what
 * is not used within half a second is returned, so that no gateway starves while another has
 * plenty.
 */
import type { Queries, Row } from '../state/database.ts'

export type AllowanceKind = 'requests' | 'tokens'

export type AllowanceOptions = {
  readonly database: Queries
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly subject: string
  readonly kind: AllowanceKind
}

type Waiter = {
  readonly amount: number
  readonly resolve: (taken: boolean) => void
  readonly reject: (error: unknown) => void
}
type Portion = { readonly slot: number; left: number }

const portionShare = 0.005
const idleMs = 500
/** How long a refusal is repeated without querying again. */
const refusalMs = 200
const forgetMs = 120_000

export class Allowance {
  readonly subject: string
  readonly kind: AllowanceKind
  readonly #options: AllowanceOptions
  #limit = 0
  #portions: Portion[] = []
  #waiters: Waiter[] = []
  #asking = false
  #refusedUntilMs = 0
  #usedMs: number
  #knownUsed = 0
  #retryAtMs = 0
  #lastSlot: number | null = null

  constructor(options: AllowanceOptions) {
    this.#options = options
    this.subject = options.subject
    this.kind = options.kind
    this.#usedMs = options.clock()
  }

  get limit(): number {
    return this.#limit
  }

  /** The estimated remainder, from the database's last answer and our own use. */
  get remaining(): number {
    return Math.max(0, this.#limit - this.#knownUsed + this.#local)
  }

  /** When a refused request can be retried. */
  get retryAfterMs(): number {
    return Math.max(0, this.#retryAtMs - this.#options.clock())
  }

  get #local(): number {
    return this.#portions.reduce((sum, portion) => sum + portion.left, 0)
  }

  /** Takes an amount, synchronously if available; false or a promise of false if the limit is reached. */
  take(amount: number, limit: number): boolean | Promise<boolean> {
    this.#limit = limit
    const nowMs = this.#options.clock()
    this.#usedMs = nowMs
    if (this.#waiters.length === 0 && this.#takeLocal(amount)) {
      if (this.#local < this.#portion / 2) this.#ask(0)
      return true
    }
    if (nowMs < this.#refusedUntilMs) return false
    return new Promise((resolve, reject) => {
      this.#waiters.push({ amount, resolve, reject })
      this.#ask(amount)
    })
  }

  /** Returns an amount that was taken but not used. */
  putBack(amount: number): void {
    const newest = this.#portions.at(-1)
    if (newest !== undefined) newest.left += amount
    else void this.#adjust(this.#lastSlot, -amount)
  }

  /** Called periodically: returns idle allowance. True if this object can be dropped. */
  async tidy(): Promise<boolean> {
    if (this.#asking || this.#options.clock() - this.#usedMs < idleMs) return false
    const portions = this.#portions
    this.#portions = []
    for (const { slot, left } of portions) if (left > 0) await this.#adjust(slot, -left)
    const unused = this.#portions.length === 0 && this.#waiters.length === 0
    return unused && this.#options.clock() - this.#usedMs > forgetMs
  }

  get #portion(): number {
    return Math.max(1, Math.floor(this.#limit * portionShare))
  }

  #takeLocal(amount: number): boolean {
    if (this.#local < amount) return false
    let open = amount
    for (const portion of this.#portions) {
      const part = Math.min(open, portion.left)
      portion.left -= part
      open -= part
    }
    this.#portions = this.#portions.filter((portion) => portion.left > 0)
    return true
  }

  /** Requests enough for all waiters, plus a portion in advance if the limit is far away. */
  #ask(least: number): void {
    if (this.#asking) return
    this.#asking = true
    const waiting = this.#waiters.reduce((sum, waiter) => sum + waiter.amount, 0)
    const ahead = this.#portion > 1 ? this.#portion : 0
    this.#query(Math.max(1, waiting - this.#local + ahead), Math.max(1, least - this.#local))
      .then(
        (granted) => {
          this.#asking = false
          this.#serve(granted)
        },
        (error: unknown) => {
          this.#asking = false
          for (const waiter of this.#waiters.splice(0)) waiter.reject(error)
        },
      )
      .catch(() => undefined)
  }

  async #query(want: number, least: number): Promise<boolean> {
    const [row] = await this.#options.database.query<Taken>(
      'select granted, used, slot, retry_ms from take_allowance($1, $2, $3, $4, $5)',
      [this.subject, this.kind, this.#limit, want, least],
    )
    if (row === undefined) return false
    this.#knownUsed = row.used
    if (row.granted > 0) {
      this.#portions.push({ slot: row.slot, left: row.granted })
      this.#lastSlot = row.slot
      return true
    }
    const nowMs = this.#options.clock()
    this.#retryAtMs = nowMs + row.retry_ms
    this.#refusedUntilMs = nowMs + Math.min(refusalMs, row.retry_ms)
    return false
  }

  /** First come, first served; waiters that cannot be served after an answer are refused. */
  #serve(granted: boolean): void {
    const waiters = this.#waiters
    this.#waiters = []
    for (const [index, waiter] of waiters.entries()) {
      if (this.#takeLocal(waiter.amount)) waiter.resolve(true)
      else if (granted && index > 0) this.#waiters.push(waiter)
      else waiter.resolve(false)
    }
    const [next] = this.#waiters
    if (next !== undefined) this.#ask(next.amount)
  }

  async #adjust(slot: number | null, amount: number): Promise<void> {
    try {
      await this.#options.database.query('select adjust_allowance($1, $2, $3, $4)', [
        this.subject,
        this.kind,
        slot,
        amount,
      ])
    } catch {
      // What could not be returned is free again after a minute.
    }
  }
}

type Taken = Row & { granted: number; used: number; slot: number; retry_ms: number }
