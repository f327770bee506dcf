/**
 * Reserves monthly tokens for running requests, so that concurrent requests stay within a limit.
 *
 * A reservation is a row in the database from admission until usage is stored: the transaction that
 * adds the real tokens deletes it, at whichever gateway the report arrives. So all gateways
 * together keep the limit, and a gateway that dies leaves reservations that count until its lease
 * ends.
 *
 * The gateway is blind, so it reserves what a request may cost: its padded length in tokens plus an
 * answer of `answerTokens`, together at most the model's context, but at least what the most
 * expensive request of the month cost. A request can still cost more than that (several choices, a
 * long answer); each running request can exceed the limit by the difference, once.
 */
import { lateCommitMs, type Queries, type Row } from '../state/database.ts'
import { DueQueue } from './due-queue.ts'

export type ReservationOptions = {
  readonly database: Queries
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly gatewayId: string
  /** Answer tokens to reserve. */
  readonly answerTokens: number
  /** How long a worker has to report after a request ends. */
  readonly graceMs: number
}

export type MonthLimit = { readonly subject: string; readonly limit: number }
/** The month's limit is used up, or running requests have reserved the rest of it. */
export type Refusal = { readonly subject: string; readonly kind: 'used' | 'reserved' }

type Wanted = {
  readonly admissionId: string
  readonly limits: readonly MonthLimit[]
  readonly tokens: number
  readonly resolve: (refusal: Refusal | undefined) => void
  readonly reject: (error: unknown) => void
}

/** An English token has about four bytes; padding makes this an upper estimate. */
const bytesPerToken = 4
const leaseSeconds = 15
const maxBatch = 200
/** How long a refusal is repeated without querying again. */
const refusalMs = { used: 1_000, reserved: 100 } as const
const maxRefusals = 10_000

export class TokenReservations {
  readonly #options: ReservationOptions
  #waiting: Wanted[] = []
  #asking = false
  #hasReserved = false
  /** Requests whose usage may still be reported. */
  readonly #ended: DueQueue<string>
  /** Requests whose reservation failed, but may still be stored. */
  readonly #failed: DueQueue<string>
  #unused: string[] = []
  readonly #refusals = new Map<string, { readonly refusal: Refusal; readonly untilMs: number }>()

  constructor(options: ReservationOptions) {
    this.#options = options
    this.#ended = new DueQueue(options.clock, options.graceMs)
    this.#failed = new DueQueue(options.clock, lateCommitMs)
  }

  /** What a request of this length may cost on a model with this context. */
  estimate(lengthBytes: number, contextTokens: number | undefined): number {
    const guess = Math.ceil(lengthBytes / bytesPerToken) + this.#options.answerTokens
    return Math.max(1, Math.min(guess, contextTokens ?? guess))
  }

  /** Resolves to the exhausted limit, or to undefined if the tokens are reserved. */
  reserve(
    admissionId: string,
    limits: readonly MonthLimit[],
    tokens: number,
  ): Promise<Refusal | undefined> {
    const nowMs = this.#options.clock()
    for (const { subject } of limits) {
      const known = this.#refusals.get(subject)
      if (known !== undefined && nowMs < known.untilMs) return Promise.resolve(known.refusal)
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ admissionId, limits, tokens, resolve, reject })
      if (!this.#asking) void this.#ask()
    })
  }

  /**
   * Another worker takes over from one that may still report: from now on only the new worker's
   * report ends the reservation, otherwise its usage would not be reserved at all.
   */
  async moveTo(admissionId: string, workerId: string): Promise<void> {
    await this.#options.database.query(
      'update token_reservations set worker_id = $2 where admission_id = $1',
      [admissionId, workerId],
    )
  }

  /** The request is over; if no worker can report it, nothing was used. */
  end(admissionId: string, mayBeReported: boolean): void {
    if (mayBeReported) this.#ended.add(admissionId)
    else this.#unused.push(admissionId)
  }

  /** Releases reservations that will no longer be reported. */
  async tidy(): Promise<void> {
    const ids = [...this.#unused.splice(0), ...this.#ended.takeDue(), ...this.#failed.takeDue()]
    if (ids.length === 0) return
    try {
      await this.#options.database.query(
        `delete from token_reservations
         where admission_id in (select jsonb_array_elements_text($1::jsonb)::uuid)`,
        [JSON.stringify(ids)],
      )
    } catch (error) {
      this.#unused.push(...ids)
      throw error
    }
  }

  /** Records that this gateway is alive, and drops what dead ones left. */
  async renew(): Promise<void> {
    if (!this.#hasReserved) return
    const { database, gatewayId } = this.#options
    await database.query('select renew_gateway($1, $2)', [gatewayId, leaseSeconds])
    await database.query(
      `with dead as (
         delete from gateway_leases where expires_at < clock_timestamp() - interval '1 minute'
         returning gateway_id)
       delete from token_reservations t using dead where t.gateway_id = dead.gateway_id`,
    )
  }

  async #ask(): Promise<void> {
    this.#asking = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, maxBatch)
      try {
        const refused = await this.#query(batch)
        for (const { admissionId, resolve } of batch) resolve(refused.get(admissionId))
      } catch (error) {
        for (const { admissionId, reject } of batch) {
          this.#withdraw(admissionId)
          reject(error)
        }
      }
    }
    this.#asking = false
  }

  /** Only the reply may be lost: the rows may exist, or be stored later. */
  #withdraw(admissionId: string): void {
    this.#unused.push(admissionId)
    this.#failed.add(admissionId)
  }

  async #query(batch: readonly Wanted[]): Promise<Map<string, Refusal>> {
    this.#hasReserved = true
    const wanted = batch.flatMap(({ admissionId, limits, tokens }) =>
      limits.map(({ subject, limit }) => ({
        ...{ admission: admissionId, subject, month_limit: limit, tokens },
      })),
    )
    const rows = await this.#options.database.query<RefusalRow>(
      `select replace(admission::text, '-', '') as admission, subject, refusal
       from reserve_tokens($1, $2, $3::jsonb)`,
      [this.#options.gatewayId, leaseSeconds, JSON.stringify(wanted)],
    )
    const refused = new Map<string, Refusal>()
    for (const { admission, subject, refusal: kind } of rows) {
      // An exhausted month takes precedence: no retry will help.
      if (refused.get(admission)?.kind !== 'used') refused.set(admission, { subject, kind })
      this.#remember({ subject, kind })
    }
    return refused
  }

  #remember(refusal: Refusal): void {
    if (this.#refusals.size >= maxRefusals) this.#refusals.clear()
    const untilMs = this.#options.clock() + refusalMs[refusal.kind]
    this.#refusals.set(refusal.subject, { refusal, untilMs })
  }
}

type RefusalRow = Row & { admission: string; subject: string; refusal: 'used' | 'reserved' }
