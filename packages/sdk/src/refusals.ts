/** Workers that may not be used now, and why. */
import { AttestationError, type AttestationErrorCode } from '@privatemode/attestation'
import { ApiError } from '@privatemode/protocol/api'
import type { ListedWorker } from './backend.ts'

export type RefusedWorker = { readonly workerId: string; readonly error: Error }

type Refusal = {
  readonly error: Error
  readonly sealKeyId: string
  readonly manifestDigest: string
  readonly notedAtMs: number
  readonly untilMs: number
}

/** A machine that could not be reached, or whose evidence could not be had, is asked again then. */
const unreachablePauseMs = 2_000

/** Evidence that was damaged on its way, or whose papers were out of date, is looked at again then. */
const doubtPauseMs = 15_000

/** What genuine evidence says: the same key will say it again under the same manifest. */
const settled: ReadonlySet<AttestationErrorCode> = new Set([
  'measurement_unknown',
  'measurement_mismatch',
  'debug_enabled',
  'migration_enabled',
  'policy_refused',
  'tcb_too_old',
  'tcb_unlisted',
  'software_refused',
  'model_unlisted',
])

export class Refusals {
  readonly #byWorker = new Map<string, Refusal>()

  get all(): readonly RefusedWorker[] {
    return [...this.#byWorker].map(([workerId, { error }]) => ({ workerId, error }))
  }

  /** Workers that verification refused. */
  get final(): readonly string[] {
    return this.all
      .filter(({ error }) => error instanceof AttestationError)
      .map(({ workerId }) => workerId)
  }

  has(workerId: string): boolean {
    return this.#byWorker.has(workerId)
  }

  /**
   * What genuine evidence says against a worker is final for that key under that manifest; everything
   * else is tried again: expired papers are renewed, clocks are set right, connections come back.
   * Says whether it was verification that refused.
   */
  note(listed: ListedWorker, manifestDigest: string, error: Error, nowMs: number): boolean {
    const untilMs = nowMs + pauseAfter(error)
    const { sealKeyId } = listed
    this.#byWorker.set(listed.id, { error, sealKeyId, manifestDigest, notedAtMs: nowMs, untilMs })
    return error instanceof AttestationError
  }

  /** Another key, or another manifest, is another question. */
  dropOutdated(
    listed: ReadonlyMap<string, ListedWorker>,
    manifestDigest: string,
    nowMs: number,
  ): void {
    for (const [id, refusal] of this.#byWorker) {
      const sameKey = listed.get(id)?.sealKeyId === refusal.sealKeyId
      const sameManifest = manifestDigest === refusal.manifestDigest
      // A clock that was turned back would make a short pause a long one.
      const isOver = refusal.untilMs <= nowMs || nowMs < refusal.notedAtMs
      if (!sameKey || !sameManifest || isOver) this.#byWorker.delete(id)
    }
  }
}

function pauseAfter(error: Error): number {
  if (!(error instanceof AttestationError)) return unreachablePauseMs
  return settled.has(error.code) ? Number.POSITIVE_INFINITY : doubtPauseMs
}

/**
 * Whether the message has nothing in it but what is signed: by hardware, by an accepted worker, or by the log
 * (log_forked, log_rolled_back, log_stale, log_witnesses_missing, and what is wrong with a manifest in it).
 */
const isAuthentic = (code: AttestationErrorCode): boolean =>
  settled.has(code) || /^(manifest_|clock_|log_([frw]|st))/.test(code)

/**
 * A refusal as the caller sees it: a retry cannot help, unless only the manifest could not be fetched.
 * What an unproven backend wrote into its evidence is in `checks` and in logs, never in this message.
 */
export function refusedError(cause: Error): ApiError {
  if (!(cause instanceof AttestationError)) {
    return new ApiError('attestation_refused', `the backend was refused: ${cause.message}`, {
      cause,
    })
  }
  const { code, message } = cause
  if (code === 'log_unreachable') {
    // What the connection failed of, such as an unknown certificate authority, is what the caller can mend.
    const reason = cause.cause instanceof Error ? `: ${cause.cause.message}` : ''
    const told = `the manifest cannot be fetched: ${message}${reason}`
    return new ApiError('gateway_unreachable', told, { cause })
  }
  const reason = isAuthentic(code) ? message.slice(0, 1000) : 'it does not prove what it is'
  return new ApiError('attestation_refused', `the backend was refused: ${reason} (${code})`, {
    cause,
  })
}
