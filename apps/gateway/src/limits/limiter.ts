/** Admits requests within the limits of their key and account. */
import { ApiError } from '@privatemode/protocol/api'
import type { Caller } from '../keys/key-check.ts'
import type { Limits } from '../keys/limits.ts'
import type { Database } from '../state/database.ts'
import { Allowance, type AllowanceKind, type Share } from './allowance.ts'
import { AllowanceReturns } from './allowance-returns.ts'
import { formatLimitFields, LimitError } from './limit-error.ts'
import { renewHolds, StreamPermits } from './stream-permits.ts'
import { TokenBooks } from './token-books.ts'
import { type MonthLimit, TokenReservations } from './token-reservations.ts'

export type LimiterOptions = {
  readonly database: Database
  readonly clock: () => number
  readonly gatewayId: string
  /** Answer tokens to reserve from a monthly limit. */
  readonly answerTokens: number
  /** How long a worker has to report usage. */
  readonly usageGraceMs: number
}

/** A request's admission within the limits, until it ends. */
export type Permit = {
  /** Header lines that report the remaining allowance to the client, each terminated by CRLF. */
  readonly fields: string
  /**
   * Called before another worker takes over from one that may report; undefined if there is nothing
   * to do.
   */
  readonly moveTo: (workerId: string) => Promise<void> | undefined
  /** Called when the request is over; a request that no worker received cannot be reported. */
  readonly end: (mayBeReported: boolean) => void
}

export type LimitedRequest = {
  readonly caller: Caller
  readonly admissionId: string
  readonly path: string
  readonly lengthBytes: number
  /** The model's context length, if its worker reports it. */
  readonly contextTokens: number | undefined
}

const unlimited: Permit = { fields: '', moveTo: () => undefined, end: () => undefined }
const tidyMs = 250
const renewEveryTidies = 12

/** What remains to be done for an admission. */
type Steps = {
  /** If a later limit refuses the request. */
  readonly undo: (() => void)[]
  /** When the request is over. */
  readonly end: (() => void)[]
}

export class Limiter {
  readonly #options: LimiterOptions
  readonly #books: TokenBooks
  readonly #reservations: TokenReservations
  readonly #returns: AllowanceReturns
  readonly #allowances = new Map<string, Allowance>()
  readonly #streams = new Map<string, StreamPermits>()
  readonly #timer: ReturnType<typeof setInterval>
  #tidies = 0
  #tidying: Promise<void> | undefined

  constructor(options: LimiterOptions) {
    this.#options = options
    this.#books = new TokenBooks(options)
    this.#reservations = new TokenReservations({ ...options, graceMs: options.usageGraceMs })
    this.#returns = new AllowanceReturns(options)
    this.#timer = setInterval(() => void this.#tidyOnce(), tidyMs)
  }

  /** Synchronous for callers without limits; throws a `LimitError` if a limit is reached. */
  admit(request: LimitedRequest): Permit | Promise<Permit> {
    if (!subjectsOf(request.caller).some(([, limits]) => isLimited(limits))) return unlimited
    return this.#admitLimited(request).catch((cause: unknown) => {
      if (cause instanceof LimitError) throw cause
      const message = 'limits cannot be checked at the moment'
      throw new ApiError('overloaded', message, { retryAfterSeconds: 2, cause })
    })
  }

  /** Returns everything this gateway holds. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#tidying
    await this.#reservations.tidy()
    await this.#options.database.query('delete from stream_holds where gateway_id = $1', [
      this.#options.gatewayId,
    ])
  }

  async #admitLimited(request: LimitedRequest): Promise<Permit> {
    const { caller, path } = request
    const steps: Steps = { undo: [], end: [] }
    const shown: Allowance[] = []
    try {
      await this.#takeRequests(request, steps, shown)
      await this.#takeTokens(request, steps, shown)
      await this.#takeStreams(request, steps)
      await this.#reserveMonth(request)
    } catch (error) {
      for (const undo of steps.undo) undo()
      throw error
    }
    let ended = false
    const { admissionId } = request
    const hasReserved = monthLimitsOf(caller).length > 0
    return {
      fields: formatLimitFields(path, shown),
      moveTo: (workerId) =>
        hasReserved ? this.#reservations.moveTo(admissionId, workerId) : undefined,
      end: (mayBeReported) => {
        if (ended) return
        ended = true
        for (const end of steps.end) end()
        if (hasReserved) this.#reservations.end(admissionId, mayBeReported)
      },
    }
  }

  async #takeRequests(
    { caller, path }: LimitedRequest,
    steps: Steps,
    shown: Allowance[],
  ): Promise<void> {
    for (const [subject, { requestsPerMinute: limit }] of subjectsOf(caller)) {
      if (limit === null) continue
      const allowance = this.#allowance(subject, 'requests')
      shown.push(allowance)
      const taken = await this.#take(allowance, 1, limit, path)
      steps.undo.push(() => allowance.putBack(taken))
    }
  }

  async #takeTokens(
    { caller, path, lengthBytes }: LimitedRequest,
    steps: Steps,
    shown: Allowance[],
  ): Promise<void> {
    for (const [subject, { tokensPerMinute: limit }] of subjectsOf(caller)) {
      if (limit === null) continue
      const estimate = await this.#books.estimate(caller.keyId, lengthBytes)
      const allowance = this.#allowance(subject, 'tokens')
      shown.push(allowance)
      const amount = Math.max(1, Math.min(estimate, limit))
      const taken = await this.#take(allowance, amount, limit, path)
      steps.undo.push(() => allowance.putBack(taken))
      steps.end.push(() => this.#returns.later(taken))
    }
  }

  async #takeStreams({ caller, path }: LimitedRequest, steps: Steps): Promise<void> {
    for (const [subject, { concurrentStreams: limit }] of subjectsOf(caller)) {
      if (limit === null) continue
      const permits = this.#streamPermits(subject)
      if (!(await permits.take(limit))) {
        throw new LimitError('rate_limit_exceeded', {
          message: `no more than ${limit} requests may run at once`,
          retryAfterMs: 1_000,
          fields: formatLimitFields(path, []),
        })
      }
      const putBack = () => permits.putBack()
      steps.undo.push(putBack)
      steps.end.push(putBack)
    }
  }

  async #take(
    allowance: Allowance,
    amount: number,
    limit: number,
    path: string,
  ): Promise<readonly Share[]> {
    const taken = await allowance.take(amount, limit)
    if (taken !== undefined) return taken
    throw new LimitError('rate_limit_exceeded', {
      message: `the limit of ${limit} ${allowance.kind} per minute is reached`,
      retryAfterMs: allowance.retryAfterMs,
      fields: formatLimitFields(path, [allowance]),
    })
  }

  /** The last of the limits, so that no other limit's refusal requires returning a reservation. */
  async #reserveMonth(request: LimitedRequest): Promise<void> {
    const { caller, admissionId, path, lengthBytes, contextTokens } = request
    const limits = monthLimitsOf(caller)
    if (limits.length === 0) return
    const tokens = this.#reservations.estimate(lengthBytes, contextTokens)
    const refusal = await this.#reservations.reserve(admissionId, limits, tokens)
    if (refusal === undefined) return
    const limit = limits.find(({ subject }) => subject === refusal.subject)?.limit
    const fields = formatLimitFields(path, [])
    switch (refusal.kind) {
      case 'used':
        throw new LimitError('insufficient_quota', {
          message: `the limit of ${limit} tokens per month is used up`,
          retryAfterMs: msToNextMonth(new Date()),
          fields,
        })
      case 'reserved':
        throw new LimitError('rate_limit_exceeded', {
          message: `running requests may use the rest of the limit of ${limit} tokens per month`,
          retryAfterMs: 1_000,
          fields,
        })
    }
  }

  #allowance(subject: string, kind: AllowanceKind): Allowance {
    const id = `${kind} ${subject}`
    let allowance = this.#allowances.get(id)
    if (allowance === undefined) {
      allowance = new Allowance({ ...this.#options, subject, kind })
      this.#allowances.set(id, allowance)
    }
    return allowance
  }

  #streamPermits(subject: string): StreamPermits {
    let permits = this.#streams.get(subject)
    if (permits === undefined) {
      permits = new StreamPermits({ ...this.#options, subject })
      this.#streams.set(subject, permits)
    }
    return permits
  }

  #tidyOnce(): Promise<void> {
    this.#tidying ??= this.#tidy()
      .catch(() => undefined)
      .finally(() => {
        this.#tidying = undefined
      })
    return this.#tidying
  }

  async #tidy(): Promise<void> {
    const idle: Share[] = []
    for (const [id, allowance] of this.#allowances) {
      idle.push(...allowance.takeIdle())
      if (allowance.isForgotten) this.#allowances.delete(id)
    }
    await this.#returns.flush(idle)
    for (const permits of this.#streams.values()) {
      await permits.tidy()
      if (permits.isForgotten) this.#streams.delete(permits.subject)
    }
    await this.#reservations.tidy()
    if (++this.#tidies % renewEveryTidies !== 0) return
    await this.#reservations.renew()
    if (this.#streams.size > 0) await renewHolds(this.#options.database, this.#options.gatewayId)
  }
}

function monthLimitsOf(caller: Caller): MonthLimit[] {
  return subjectsOf(caller).flatMap(([subject, { tokensPerMonth: limit }]) =>
    limit === null ? [] : [{ subject, limit }],
  )
}

function subjectsOf(caller: Caller): readonly (readonly [string, Limits])[] {
  return [
    [caller.keyId, caller.keyLimits],
    [caller.accountId, caller.accountLimits],
    ...(caller.member === undefined ? [] : [[caller.member.id, caller.member.limits] as const]),
  ]
}

function isLimited(limits: Limits): boolean {
  return (
    limits.requestsPerMinute !== null ||
    limits.tokensPerMinute !== null ||
    limits.tokensPerMonth !== null ||
    limits.concurrentStreams !== null
  )
}

function msToNextMonth(now: Date): number {
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) - now.getTime()
}
