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

/** When to ask again after a machine was unreachable or its evidence could not be fetched. */
const unreachablePauseMs = 2_000

/** When to check again after evidence was damaged in transit or its collateral was out of date. */
const doubtPauseMs = 15_000

/** Findings from genuine evidence: under the same manifest, the same key will yield them again. */
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

  /** Workers refused by verification. */
  get final(): readonly string[] {
    return this.all
      .filter(({ error }) => error instanceof AttestationError)
      .map(({ workerId }) => workerId)
  }

  has(workerId: string): boolean {
    return this.#byWorker.has(workerId)
  }

  /**
   * Findings from genuine evidence are final for that key under that manifest. Everything else is
   * retried: expired collateral is renewed, clocks are corrected, connections recover. Returns
   * whether verification refused the worker.
   */
  note(listed: ListedWorker, manifestDigest: string, error: Error, nowMs: number): boolean {
    const untilMs = nowMs + pauseAfter(error)
    const { sealKeyId } = listed
    this.#byWorker.set(listed.id, { error, sealKeyId, manifestDigest, notedAtMs: nowMs, untilMs })
    return error instanceof AttestationError
  }

  /** Drops refusals of another key or under another manifest: the result may differ now. */
  dropOutdated(
    listed: ReadonlyMap<string, ListedWorker>,
    manifestDigest: string,
    nowMs: number,
  ): void {
    for (const [id, refusal] of this.#byWorker) {
      const sameKey = listed.get(id)?.sealKeyId === refusal.sealKeyId
      const sameManifest = manifestDigest === refusal.manifestDigest
      // A clock that was set back would turn a short pause into a long one.
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
 * Whether the message contains only signed information: signed by hardware, by an accepted worker,
 * or by the log (log_forked, log_rolled_back, log_stale, log_witnesses_missing, and defects of a
 * manifest in it).
 */
const isAuthentic = (code: AttestationErrorCode): boolean =>
  settled.has(code) || /^(manifest_|clock_|log_([frw]|st))/.test(code)

/**
 * A refusal as the caller sees it: a retry cannot help, unless only the manifest could not be
 * fetched. What an unproven backend wrote into its evidence appears in `checks` and in logs, never
 * in this message.
 */
export function refusedError(cause: Error): ApiError {
  if (!(cause instanceof AttestationError)) {
    return new ApiError('attestation_refused', `the backend was refused: ${cause.message}`, {
      cause,
    })
  }
  const { code, message } = cause
  if (code === 'log_unreachable') {
    // The reason the connection failed, such as an unknown certificate authority, is what the
    // caller can fix.
    const reason = cause.cause instanceof Error ? `: ${cause.cause.message}` : ''
    const text = `the manifest cannot be fetched: ${message}${reason}`
    return new ApiError('gateway_unreachable', text, { cause })
  }
  const reason = isAuthentic(code) ? message.slice(0, 1000) : 'it does not prove its identity'
  return new ApiError('attestation_refused', `the backend was refused: ${reason} (${code})`, {
    cause,
  })
}
