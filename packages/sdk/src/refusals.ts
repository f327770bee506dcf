/** Workers that may not be used now, and why. */
import { AttestationError } from '@privatemode/attestation'
import { ApiError } from '@privatemode/protocol/api'
import type { ListedWorker } from './backend.ts'

export type RefusedWorker = { readonly workerId: string; readonly error: Error }

type Refusal = {
  readonly error: Error
  readonly sealKeyId: string
  readonly manifestDigest: string
  readonly untilMs: number
}

/** A machine that could not be reached, or whose evidence could not be had, is asked again then. */
const unreachablePauseMs = 2_000

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
   * A refusal by verification is final for that key under that manifest; a failed connection is
   * tried again soon. Says which of the two it is.
   */
  note(listed: ListedWorker, manifestDigest: string, error: Error, nowMs: number): boolean {
    const final = error instanceof AttestationError
    const untilMs = nowMs + (final ? Number.POSITIVE_INFINITY : unreachablePauseMs)
    const { sealKeyId } = listed
    this.#byWorker.set(listed.id, { error, sealKeyId, manifestDigest, untilMs })
    return final
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
      if (!sameKey || !sameManifest || refusal.untilMs <= nowMs) this.#byWorker.delete(id)
    }
  }
}

/** A refusal as the caller sees it: a retry cannot help, unless only the manifest was not to be had. */
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
  const told = `the backend was refused: ${message} (${code})`
  return new ApiError('attestation_refused', told, { cause })
}
