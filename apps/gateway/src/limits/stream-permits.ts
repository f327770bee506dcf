/** This gateway's share of the concurrent streams of one key or account. */
import { lateCommitMs, type Queries, type Row } from '../state/database.ts'

export type StreamPermitsOptions = {
  readonly database: Queries
  readonly clock: () => number
  readonly subject: string
  readonly gatewayId: string
}

const idleMs = 500
const refusalMs = 100
const holdSeconds = 10
/** Held in advance, as a share of the limit. */
const aheadShare = 0.01

/** Records that this gateway is alive, which keeps its holds. */
export async function renewHolds(database: Queries, gatewayId: string): Promise<void> {
  await database.query(
    `update stream_holds set expires_at = clock_timestamp() + make_interval(secs => $2)
     where gateway_id = $1 and held > 0`,
    [gatewayId, holdSeconds],
  )
  await database.query(
    `delete from stream_holds where expires_at < clock_timestamp() - interval '1 minute'`,
  )
}

type Waiter = {
  readonly resolve: (taken: boolean) => void
  readonly reject: (error: unknown) => void
}

export class StreamPermits {
  readonly subject: string
  readonly #options: StreamPermitsOptions
  #held = 0
  #inUse = 0
  #waiters: Waiter[] = []
  /** One statement at a time, so that they take effect in order. */
  #asking = false
  /** When to write the count again, after a statement that may or may not have taken effect. */
  #unsureMs: readonly number[] = []
  #refusedUntilMs = 0
  #usedMs: number
  #limit = 0

  constructor(options: StreamPermitsOptions) {
    this.#options = options
    this.subject = options.subject
    this.#usedMs = options.clock()
  }

  take(limit: number): boolean | Promise<boolean> {
    this.#limit = limit
    const nowMs = this.#options.clock()
    this.#usedMs = nowMs
    if (this.#waiters.length === 0 && this.#inUse < Math.min(this.#held, limit)) {
      this.#inUse++
      return true
    }
    if (nowMs < this.#refusedUntilMs) return false
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject })
      this.#ask()
    })
  }

  /** A stream has ended. */
  putBack(): void {
    this.#inUse--
    this.#usedMs = this.#options.clock()
    this.#refusedUntilMs = 0
  }

  /** Returns unused holds, and corrects what the database counts if that is unsure. */
  async tidy(): Promise<void> {
    if (this.#asking) return
    const nowMs = this.#options.clock()
    const idle = nowMs - this.#usedMs >= idleMs ? this.#held - this.#inUse : 0
    const stillUnsureMs = this.#unsureMs.filter((dueMs) => dueMs > nowMs)
    if (idle === 0 && stillUnsureMs.length === this.#unsureMs.length) return
    this.#held -= idle
    this.#asking = true
    try {
      await this.#write()
      this.#unsureMs = stillUnsureMs
    } catch {
      this.#doubt()
    }
    this.#asking = false
    if (this.#waiters.length > 0) this.#ask()
  }

  /** Whether this object can be dropped. */
  get isForgotten(): boolean {
    const isUnused = this.#held === 0 && this.#inUse === 0 && this.#waiters.length === 0
    return isUnused && !this.#asking && this.#unsureMs.length === 0
  }

  #ask(): void {
    if (this.#asking) return
    this.#asking = true
    const ahead = Math.floor(this.#limit * aheadShare)
    const want = Math.max(1, this.#waiters.length - (this.#held - this.#inUse) + ahead)
    this.#query(want)
      .then(
        (granted) => {
          this.#asking = false
          this.#held += granted
          if (granted === 0) this.#refusedUntilMs = this.#options.clock() + refusalMs
          this.#serve(granted > 0)
        },
        (error: unknown) => {
          this.#asking = false
          this.#doubt()
          for (const waiter of this.#waiters.splice(0)) waiter.reject(error)
        },
      )
      .catch(() => undefined)
  }

  async #query(want: number): Promise<number> {
    const [row] = await this.#options.database.query<{ granted: number } & Row>(
      'select hold_streams($1, $2, $3, $4, $5) as granted',
      [this.subject, this.#options.gatewayId, this.#limit, want, holdSeconds],
    )
    return row?.granted ?? 0
  }

  #serve(granted: boolean): void {
    const waiters = this.#waiters
    this.#waiters = []
    for (const [index, waiter] of waiters.entries()) {
      if (this.#inUse < this.#held) {
        this.#inUse++
        waiter.resolve(true)
      } else if (granted && index > 0) this.#waiters.push(waiter)
      else waiter.resolve(false)
    }
    if (this.#waiters.length > 0) this.#ask()
  }

  async #write(): Promise<void> {
    await this.#options.database.query(
      'update stream_holds set held = $3 where subject = $1 and gateway_id = $2',
      [this.subject, this.#options.gatewayId, this.#held],
    )
  }

  /** A statement failed, or only its reply was lost; it may even take effect later. */
  #doubt(): void {
    const nowMs = this.#options.clock()
    this.#unsureMs = [nowMs, nowMs + lateCommitMs]
  }
}
