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

/** Allowance from one of the database's half-second slots. */
export type Share = {
  readonly subject: string
  readonly kind: AllowanceKind
  readonly slot: number
  readonly amount: number
}

export type AllowanceOptions = {
  readonly database: Queries
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly subject: string
  readonly kind: AllowanceKind
}

type Waiter = {
  readonly amount: number
  readonly resolve: (taken: readonly Share[] | undefined) => void
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

  /** Takes an amount, synchronously if available; undefined or a promise of it if the limit is reached. */
  take(
    amount: number,
    limit: number,
  ): readonly Share[] | undefined | Promise<readonly Share[] | undefined> {
    this.#limit = limit
    const nowMs = this.#options.clock()
    this.#usedMs = nowMs
    const taken = this.#waiters.length === 0 ? this.#takeLocal(amount) : undefined
    if (taken !== undefined) {
      if (this.#local < this.#portion / 2) this.#ask(0)
      return taken
    }
    if (nowMs < this.#refusedUntilMs) return undefined
    return new Promise((resolve, reject) => {
      this.#waiters.push({ amount, resolve, reject })
      this.#ask(amount)
    })
  }

  /**
   * Makes shares available here again, because their request was refused. Those of a request that
   * ran go back to the database: it alone knows what the request used instead.
   */
  putBack(shares: readonly Share[]): void {
    for (const { slot, amount } of shares) this.#portions.push({ slot, left: amount })
  }

  /** Gives up allowance that has been idle for a while; the caller returns it to the database. */
  takeIdle(): Share[] {
    if (this.#asking || this.#options.clock() - this.#usedMs < idleMs) return []
    return this.#portions.splice(0).map(({ slot, left }) => this.#share(slot, left))
  }

  /** Whether this object can be dropped. */
  get isForgotten(): boolean {
    const isUnused = this.#portions.length === 0 && this.#waiters.length === 0 && !this.#asking
    return isUnused && this.#options.clock() - this.#usedMs > forgetMs
  }

  get #portion(): number {
    return Math.max(1, Math.floor(this.#limit * portionShare))
  }

  #takeLocal(amount: number): readonly Share[] | undefined {
    if (this.#local < amount) return undefined
    const taken: Share[] = []
    let open = amount
    for (const portion of this.#portions) {
      const part = Math.min(open, portion.left)
      if (part > 0) taken.push(this.#share(portion.slot, part))
      portion.left -= part
      open -= part
    }
    this.#portions = this.#portions.filter((portion) => portion.left > 0)
    return taken
  }

  #share(slot: number, amount: number): Share {
    return { subject: this.subject, kind: this.kind, slot, amount }
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
      const taken = this.#takeLocal(waiter.amount)
      if (taken !== undefined) waiter.resolve(taken)
      else if (granted && index > 0) this.#waiters.push(waiter)
      else waiter.resolve(undefined)
    }
    const [next] = this.#waiters
    if (next !== undefined) this.#ask(next.amount)
  }
}

type Taken = Row & { granted: number; used: number; slot: number; retry_ms: number }
