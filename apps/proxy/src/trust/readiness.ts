/** Whether the proxy can serve: the manifest is there and, as far as the proxy has a key to look, so is a worker. */
import type { PrivateClient } from '@privatemode/sdk'

export type Readiness = {
  readonly ready: boolean
  readonly reason: string
  /** Why the last attempt to verify the backend failed, as in the log; absent if it did not. */
  readonly cause?: string
  readonly manifest: string | null
  readonly verified_workers: number
  /** How long ago the manifest log was signed; null before it is known, or with a manifest from a file. */
  readonly log_age_seconds: number | null
  /** From then on requests fail unless log or manifest are renewed; null where nothing ends. */
  readonly usable_until: string | null
}

/** What is said where nothing is known. */
export const unknownReadiness: Readiness = {
  ready: false,
  reason: 'unknown',
  manifest: null,
  verified_workers: 0,
  log_age_seconds: null,
  usable_until: null,
}

export function readReadiness(
  client: Pick<PrivateClient, 'verification'>,
  hasOwnKey: boolean,
  draining: boolean,
  cause?: string,
  at = new Date(),
): Readiness {
  const { manifest, workers, refused } = client.verification()
  const now = at.toISOString()
  const verified = workers.filter((worker) => worker.valid_until > now).length
  const signedAt = manifest?.log_signed_at ?? null
  const state = {
    ...(cause === undefined ? {} : { cause }),
    manifest: manifest?.digest ?? null,
    verified_workers: verified,
    log_age_seconds: signedAt === null ? null : ageSeconds(signedAt, at),
    usable_until: manifest?.usable_until ?? null,
  }
  if (draining) return { ready: false, reason: 'draining', ...state }
  if (manifest === undefined) return { ready: false, reason: 'no manifest yet', ...state }
  if (state.usable_until !== null && state.usable_until <= now) {
    return { ready: false, reason: 'manifest out of date', ...state }
  }
  if (verified > 0) return { ready: true, reason: 'backend verified', ...withoutCause(state) }
  // Without a key of its own the proxy meets the backend with the first client's.
  if (!hasOwnKey && refused.length === 0) {
    return { ready: true, reason: 'manifest verified, no client yet', ...withoutCause(state) }
  }
  return { ready: false, reason: 'no verified worker', ...state }
}

/** A failed refresh does not matter while an earlier verification still counts. */
function withoutCause<State extends { cause?: string }>({ cause: _, ...state }: State) {
  return state
}

const ageSeconds = (since: string, at: Date): number =>
  Math.max(0, Math.floor((at.getTime() - Date.parse(since)) / 1000))
