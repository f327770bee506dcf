/** Refuses requests that are too old, from the future, or seen before. Its memory is bounded. */
import { formatHex } from './byte-strings.ts'
import { EnvelopeError } from './envelope-error.ts'
import type { RequestContext } from './prelude.ts'

export type ReplayLimits = {
  /** A request older than this is refused. */
  readonly maxAgeMs: number
  /** A request issued further ahead of the local clock is refused. */
  readonly maxAheadMs: number
  /** The maximum number of request ids to remember. */
  readonly maxRemembered: number
}

export const defaultReplayLimits: ReplayLimits = {
  maxAgeMs: 120_000,
  maxAheadMs: 60_000,
  maxRemembered: 1_000_000,
}

type Generation = { readonly ids: Set<string>; latestIssuedAtMs: number }

/**
 * Remembers request ids in two generations. Forgetting a generation raises a floor: requests issued
 * at or before it are refused for good, so setting the clock back does not let a replay through.
 */
export class ReplayGuard {
  readonly #limits: ReplayLimits
  readonly #now: () => number
  #current = newGeneration()
  #previous = newGeneration()
  #turnedAtMs: number
  #floorMs = Number.NEGATIVE_INFINITY

  constructor(limits: ReplayLimits = defaultReplayLimits, now: () => number = Date.now) {
    this.#limits = limits
    this.#now = now
    this.#turnedAtMs = now()
  }

  accept(context: Pick<RequestContext, 'requestId' | 'issuedAtMs'>): void {
    const now = this.#now()
    this.#requireRecent(context.issuedAtMs, now)
    this.#turn(now)
    if (context.issuedAtMs <= this.#floorMs)
      throw staleRequest('before requests that are no longer remembered')
    const id = formatHex(context.requestId)
    if (this.#current.ids.has(id) || this.#previous.ids.has(id)) {
      throw new EnvelopeError('replayed', 'this request was seen before')
    }
    if (this.#current.ids.size + this.#previous.ids.size >= this.#limits.maxRemembered) {
      throw new EnvelopeError('overloaded', 'too many requests within the replay window')
    }
    this.#current.ids.add(id)
    this.#current.latestIssuedAtMs = Math.max(this.#current.latestIssuedAtMs, context.issuedAtMs)
  }

  /**
   * Whether the clock was set back behind forgotten requests. No request is then accepted until the
   * clock has passed them again; to recover sooner, replace all keys and then call `forget`.
   */
  get isBehind(): boolean {
    const now = this.#now()
    this.#turn(now)
    return this.#floorMs > now
  }

  /** Call this only once no previously sealed request can be opened any more. */
  forget(): void {
    this.#current = newGeneration()
    this.#previous = newGeneration()
    this.#floorMs = Number.NEGATIVE_INFINITY
    this.#turnedAtMs = this.#now()
  }

  #requireRecent(issuedAtMs: number, now: number): void {
    const { maxAgeMs, maxAheadMs } = this.#limits
    const ageMs = now - issuedAtMs
    if (ageMs > maxAgeMs || ageMs < -maxAheadMs) {
      throw staleRequest(
        `${Math.round(ageMs / 1000)} s ago by this worker's clock, accepted are ` +
          `-${maxAheadMs / 1000} to ${maxAgeMs / 1000} s`,
      )
    }
  }

  #turn(now: number): void {
    const windowMs = this.#limits.maxAgeMs + this.#limits.maxAheadMs
    if (Math.abs(now - this.#turnedAtMs) < windowMs) return
    this.#floorMs = Math.max(this.#floorMs, this.#previous.latestIssuedAtMs)
    this.#previous = this.#current
    this.#current = newGeneration()
    this.#turnedAtMs = now
  }
}

const newGeneration = (): Generation => ({
  ids: new Set(),
  latestIssuedAtMs: Number.NEGATIVE_INFINITY,
})

const staleRequest = (when: string) =>
  new EnvelopeError('stale_request', `the request was issued ${when}: check the client's clock`)
