/** Holds the manifest in force: loads it once for all waiting callers, and again on demand or when due. */
import {
  AttestationError,
  type AttestationErrorCode,
  type LogFreshness,
  type Manifest,
  type ManifestSource,
} from '@privatemode/attestation'
import type { Bytes } from '@privatemode/protocol/envelope'
import type { ClientEvent } from './options.ts'

const reloadAfterMs = 5 * 60_000
/** How long to wait before asking an unreachable manifest host again. */
const retryAfterMs = 60_000
/**
 * An upcoming expiry is announced after this fraction of the lifetime; for a manifest, only in its
 * last week.
 */
const warnAfter = 0.5
const expiryWarningMs = 7 * 24 * 60 * 60_000
const warnEveryMs = 60 * 60_000

export class ManifestKeeper {
  readonly #source: ManifestSource
  readonly #now: () => Date
  readonly #onEvent: (event: ClientEvent) => void
  #current: Manifest | undefined
  #loadedAtMs = 0
  #loading: Promise<Manifest> | undefined
  #wasUnreachable = false
  /** Why the log was refused, until it is read successfully again. */
  #refused: AttestationError | undefined
  readonly #warnedAtMs: { log?: number | undefined; manifest?: number | undefined } = {}
  #enforced:
    | { readonly digest: string; readonly at: Date; readonly done: Promise<void> }
    | undefined

  constructor(
    source: ManifestSource,
    now: () => Date,
    onEvent: (event: ClientEvent) => void = () => {},
  ) {
    this.#source = source
    this.#now = now
    this.#onEvent = onEvent
  }

  get current(): Manifest | undefined {
    return this.#current
  }

  /** When enforcement of the current manifest started; undefined before the first verification. */
  get enforcedAt(): Date | undefined {
    return this.#enforced?.at
  }

  /**
   * When the log and its witnesses last stated that nothing newer exists, and until when that is
   * accepted.
   */
  get freshness(): LogFreshness | undefined {
    return this.#current === undefined ? undefined : this.#source.freshness()
  }

  /** Why the log was refused when it was last read, which ended the use of the manifest. */
  get logRefused(): AttestationErrorCode | undefined {
    return this.#refused?.code
  }

  /**
   * When the manifest in force stops being usable unless the log is signed again; undefined if
   * nothing ends it.
   */
  get usableUntil(): Date | undefined {
    const ends = [this.freshness?.staleAt, this.#current?.expiresAt].filter(
      (end) => end !== undefined,
    )
    return ends.length === 0 ? undefined : new Date(Math.min(...ends.map((end) => end.getTime())))
  }

  /** Whether there is a manifest that may be used now. */
  get usable(): boolean {
    if (this.#current === undefined || this.#refused !== undefined) return false
    const { usableUntil } = this
    return usableUntil === undefined || this.#now() < usableUntil
  }

  async get(): Promise<Manifest> {
    return this.#current !== undefined && this.usable ? this.#current : await this.load()
  }

  /**
   * Returns the manifest, reloaded if that is due. A host that is merely unreachable does not end
   * the use of the manifest in force before its time is up; an invalid log does, and stays refused
   * if it becomes unreachable.
   */
  async getCurrent(): Promise<Manifest> {
    const before = this.#current
    if (before === undefined) return await this.load()
    if (!this.due && this.usable) {
      this.#warnWhereOld(before)
      return before
    }
    try {
      return await this.load()
    } catch (error) {
      if (!isUnreachable(error)) throw error
      const { usableUntil: until, freshness } = this
      this.#wasUnreachable = true
      this.#onEvent({
        kind: 'log-unreachable',
        reason: error.message,
        asOf: freshness?.asOf,
        until,
      })
      if (!this.usable) throw this.#refused ?? endedError(before, freshness, error)
      this.#loadedAtMs = this.#now().getTime() - reloadAfterMs + retryAfterMs
      this.#warnWhereOld(before)
      return before
    }
  }

  /** A pinned document is never due. */
  get due(): boolean {
    const age = this.#now().getTime() - this.#loadedAtMs
    return !this.#source.fixed && (age >= reloadAfterMs || age < 0)
  }

  /** How long ago it was loaded. */
  get ageMs(): number {
    return this.#now().getTime() - this.#loadedAtMs
  }

  get fixed(): boolean {
    return this.#source.fixed
  }

  /** Runs one load at a time; concurrent callers share its result. */
  load(): Promise<Manifest> {
    this.#loading ??= this.#source
      .load()
      .then(
        (manifest) => this.#accept(manifest),
        (error) => this.#refuse(error),
      )
      .finally(() => {
        this.#loading = undefined
      })
    return this.#loading
  }

  #accept(manifest: Manifest): Manifest {
    const before = this.#current
    this.#current = manifest
    this.#refused = undefined
    if (manifest.digest !== before?.digest) {
      const { digest, serial } = manifest
      this.#onEvent({ kind: 'manifest-changed', digest, serial, from: before?.digest })
    }
    this.#loadedAtMs = this.#now().getTime()
    if (this.#wasUnreachable) this.#recover('log-unreachable')
    this.#wasUnreachable = false
    if (!this.usable) throw endedError(manifest, this.freshness)
    this.#warnWhereOld(manifest)
    return manifest
  }

  #refuse(error: unknown): never {
    if (error instanceof AttestationError && !isUnreachable(error)) this.#refused = error
    throw error
  }

  /** Warns in good time if what is about to expire has not been renewed. */
  #warnWhereOld({ issuedAt, expiresAt }: Manifest): void {
    const nowMs = this.#now().getTime()
    const { freshness } = this
    /** At most once an hour for each: neither expiry hides the other. */
    const warnIfOld = (what: 'log' | 'manifest', from: Date, until: Date) => {
      if (nowMs - from.getTime() < (until.getTime() - from.getTime()) * warnAfter) {
        // A manifest cannot become younger, and a new one is an event of its own.
        if (what === 'log' && this.#warnedAtMs.log !== undefined) this.#recover('manifest-aging')
        this.#warnedAtMs[what] = undefined
        return
      }
      const sinceMs = nowMs - (this.#warnedAtMs[what] ?? Number.NEGATIVE_INFINITY)
      if (sinceMs >= 0 && sinceMs < warnEveryMs) return
      this.#warnedAtMs[what] = nowMs
      this.#onEvent({ kind: 'manifest-aging', what, asOf: freshness?.asOf, until })
    }
    if (freshness !== undefined) warnIfOld('log', freshness.asOf, freshness.staleAt)
    if (expiresAt !== undefined && expiresAt.getTime() - nowMs < expiryWarningMs)
      warnIfOld('manifest', issuedAt, expiresAt)
  }

  #recover(warning: 'log-unreachable' | 'manifest-aging'): void {
    this.#onEvent({ kind: 'log-recovered', warning })
  }

  /** The c2sp.org/tlog-proof of the manifest that was loaded last, if it came from a log. */
  logProof(manifest: Manifest): Bytes | undefined {
    return this.#source.logProof(manifest)
  }

  /**
   * Called when a worker was verified against `manifest`: only then is it enforced. Resolves once
   * that is recorded; a failed recording is retried with the next worker.
   */
  async markEnforced(manifest: Manifest): Promise<void> {
    const { digest } = manifest
    if (this.#enforced?.digest !== digest) {
      const at = this.#now()
      this.#enforced = { digest, at, done: this.#source.enforced(manifest, at) }
    }
    const enforced = this.#enforced
    try {
      await enforced.done
    } catch (error) {
      if (this.#enforced === enforced) this.#enforced = undefined
      throw error
    }
  }
}

const isUnreachable = (error: unknown): error is AttestationError =>
  error instanceof AttestationError && error.code === 'log_unreachable'

function endedError(
  manifest: Manifest,
  freshness: LogFreshness | undefined,
  cause?: AttestationError,
): AttestationError {
  const reason = cause === undefined ? '' : `; it cannot be read now: ${cause.message}`
  const { serial, expiresAt } = manifest
  if (freshness !== undefined && (expiresAt === undefined || freshness.staleAt <= expiresAt)) {
    const message = `the manifest log was last signed at ${freshness.asOf.toISOString()}, which counted until ${freshness.staleAt.toISOString()}${reason}`
    return new AttestationError('log_stale', message, { cause })
  }
  const ended = `manifest ${serial} expired at ${expiresAt?.toISOString()}, and there is no newer one`
  return new AttestationError('manifest_expired', `${ended}${reason}`, { cause })
}
