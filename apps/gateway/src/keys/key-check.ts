/**
 * Checks a caller's key, from memory if the cached answer is recent enough.
 *
 * A revoked key must stop working everywhere within two seconds, so an answer is used for at most
 * `maxAgeMs`, counted from the moment of the query. Keys used within the last minute are looked up
 * again before that, all in one query, so that their requests never wait for the database.
 */
import { ApiError } from '@privatemode/protocol/api'
import type { Database, Row } from '../state/database.ts'
import { hashApiKey, looksLikeApiKey } from './api-key.ts'
import { type Limits, type LimitsWire, readLimits } from './limits.ts'

/** An authenticated caller. Only a check creates one. */
export type Caller = {
  readonly keyId: string
  readonly accountId: string
  readonly keyLimits: Limits
  readonly accountLimits: Limits
  /** The member who created the key, and the shared limits of all that member's keys. */
  readonly member?: { readonly id: string; readonly limits: Limits } | undefined
  readonly [checked]: true
}
declare const checked: unique symbol

export type KeyCheckOptions = {
  readonly database: Database
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly maxAgeMs: number
  readonly maxCached: number
  readonly maxLookups: number
}

type Answer = { readonly caller: Caller | undefined; readonly askedAtMs: number; usedMs: number }

/** How long after its last use a key is kept up to date. */
const inUseMs = 60_000
/** Keys in one query; beyond that, the requests of the others query for themselves. */
const maxRefreshed = 1_000

export class KeyCheck {
  readonly #options: KeyCheckOptions
  /** Valid and unknown keys are cached separately: no flood of guesses pushes out a valid one. */
  readonly #valid = new Map<string, Answer>()
  readonly #unknown = new Map<string, Answer>()
  readonly #asking = new Map<string, Promise<Answer>>()
  /** Answers asked for by then are not used any more. */
  #staleUntilMs = Number.NEGATIVE_INFINITY
  #usedSince = new Set<string>()
  #refreshing = false

  constructor(options: KeyCheckOptions) {
    this.#options = options
  }

  /** The caller for a key, synchronously if cached; throws an `ApiError` that says why not. */
  check(secret: string | undefined): Caller | Promise<Caller> {
    if (secret === undefined) throw refuse('no API key: send it as "Authorization: Bearer <key>"')
    if (!looksLikeApiKey(secret)) throw refuse('this is not an API key of this service')
    const id = hashApiKey(secret)
    const known = this.#valid.get(id) ?? this.#unknown.get(id)
    const isStale = known === undefined || known.askedAtMs <= this.#staleUntilMs
    const ageMs = isStale ? Infinity : this.#options.clock() - known.askedAtMs
    if (known !== undefined && ageMs < this.#options.maxAgeMs) return this.#accept(known)
    return this.#ask(id).then((answer) => this.#accept(answer))
  }

  /** Keys used since the last call; their last use is written in one statement. */
  takeUsed(): ReadonlySet<string> {
    const used = this.#usedSince
    this.#usedSince = new Set()
    return used
  }

  /** Uses no cached answer any more: the next request of every key queries the database. */
  forget(): void {
    this.#staleUntilMs = this.#options.clock()
  }

  /** Looks up the keys in use; to be called at least twice in `maxAgeMs`. */
  async refresh(): Promise<void> {
    if (this.#refreshing) return
    const inUseSince = this.#options.clock() - inUseMs
    const ids: string[] = []
    for (const [id, { usedMs }] of this.#valid) {
      if (ids.length === maxRefreshed) break
      if (usedMs > inUseSince) ids.push(id)
    }
    if (ids.length === 0) return
    this.#refreshing = true
    try {
      await this.#lookUp(ids)
    } catch {
      // It surfaces when the answers have aged: then a request waits for the database itself.
    } finally {
      this.#refreshing = false
    }
  }

  #accept(answer: Answer): Caller {
    if (answer.caller === undefined) {
      throw refuse('this API key is unknown, expired or revoked')
    }
    answer.usedMs = this.#options.clock()
    this.#usedSince.add(answer.caller.keyId)
    return answer.caller
  }

  #ask(id: string): Promise<Answer> {
    const running = this.#asking.get(id)
    if (running !== undefined) return running
    // A key that was valid is looked up again, however many others are being guessed.
    if (this.#asking.size >= this.#options.maxLookups && !this.#valid.has(id)) {
      throw new ApiError('overloaded', 'too many unknown keys are being checked', {
        retryAfterSeconds: 1,
      })
    }
    const asked = this.#lookUpOne(id).finally(() => this.#asking.delete(id))
    this.#asking.set(id, asked)
    return asked
  }

  async #lookUpOne(id: string): Promise<Answer> {
    let answers: Answer[]
    try {
      answers = await this.#lookUp([id])
    } catch (cause) {
      throw new ApiError('overloaded', 'API keys cannot be checked at the moment', {
        retryAfterSeconds: 2,
        cause,
      })
    }
    return answers[0] as Answer
  }

  async #lookUp(ids: readonly string[]): Promise<Answer[]> {
    const { clock, database } = this.#options
    const askedAtMs = clock()
    const rows = await database.query<CallerRow>(lookUpSql, [JSON.stringify(ids)])
    const callers = new Map(rows.map((row) => [row.asked, readCaller(row)]))
    return ids.map((id) => {
      const usedMs = this.#valid.get(id)?.usedMs ?? askedAtMs
      const answer = { caller: callers.get(id), askedAtMs, usedMs }
      this.#valid.delete(id)
      this.#unknown.delete(id)
      this.#keep(answer.caller === undefined ? this.#unknown : this.#valid, id, answer)
      return answer
    })
  }

  /** Evicts the oldest answers first: a Map keeps insertion order. */
  #keep(answers: Map<string, Answer>, id: string, answer: Answer): void {
    answers.set(id, answer)
    for (const oldest of answers.keys()) {
      if (answers.size <= this.#options.maxCached) return
      answers.delete(oldest)
    }
  }
}

// The database's clock decides, so that gateways with wrong clocks agree.
const lookUpSql = `
select asked, k.id, k.account_id,
  k.requests_per_minute, k.tokens_per_minute, k.tokens_per_month, k.concurrent_streams,
  a.requests_per_minute as account_rpm, a.tokens_per_minute as account_tpm,
  a.tokens_per_month as account_month, a.concurrent_streams as account_streams,
  m.id as member_id, a.member_requests_per_minute as member_rpm,
  a.member_tokens_per_minute as member_tpm, a.member_tokens_per_month as member_month,
  a.member_concurrent_streams as member_streams
from jsonb_array_elements_text($1::jsonb) as asked
  join api_keys k on k.hash = decode(asked, 'base64')
    or (k.previous_hash = decode(asked, 'base64') and k.previous_until > now())
  join accounts a on a.id = k.account_id
  left join members m on m.id = k.created_by and m.role = 'member'
where k.revoked_at is null and a.disabled_at is null
  and (k.expires_at is null or k.expires_at > now())`

type CallerRow = Row &
  LimitsWire & {
    /** The hash that was looked up. */
    asked: string
    id: string
    account_id: string
    account_rpm: number | null
    account_tpm: number | null
    account_month: number | null
    account_streams: number | null
    member_id: string | null
    member_rpm: number | null
    member_tpm: number | null
    member_month: number | null
    member_streams: number | null
  }

function readCaller(row: CallerRow): Caller {
  return {
    keyId: row.id,
    accountId: row.account_id,
    keyLimits: readLimits(row),
    accountLimits: {
      requestsPerMinute: row.account_rpm,
      tokensPerMinute: row.account_tpm,
      tokensPerMonth: row.account_month,
      concurrentStreams: row.account_streams,
    },
    member:
      row.member_id === null
        ? undefined
        : {
            id: row.member_id,
            limits: {
              requestsPerMinute: row.member_rpm,
              tokensPerMinute: row.member_tpm,
              tokensPerMonth: row.member_month,
              concurrentStreams: row.member_streams,
            },
          },
  } as Caller
}

function refuse(message: string): ApiError {
  return new ApiError('invalid_api_key', message)
}
