/** Whether the proxy can serve: it has a manifest and, if it has a key to check with, a verified worker. */
import type { PrivateClient } from '@privatemode/sdk'

export type Readiness = {
  readonly ready: boolean
  readonly reason: string
  /** Why the last attempt to verify the backend failed, as logged; absent if it did not. */
  readonly cause?: string
  readonly manifest: string | null
  readonly verified_workers: number
  /** How long ago the manifest log was signed; null if not yet known, or with a manifest from a file. */
  readonly log_age_seconds: number | null
  /** After this, requests fail unless log or manifest are renewed; null if nothing expires. */
  readonly usable_until: string | null
}

/** Reported when nothing is known. */
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
  if (manifest.log_refused !== null) {
    const { log_refused: code } = manifest
    return { ready: false, reason: 'manifest log refused', ...state, cause: cause ?? code }
  }
  if (state.usable_until !== null && state.usable_until <= now) {
    return { ready: false, reason: 'manifest out of date', ...state }
  }
  if (verified > 0) return { ready: true, reason: 'backend verified', ...withoutCause(state) }
  // Without its own key, the proxy contacts the backend with its clients' keys alone. If an outage
  // made it unready, a load balancer would send no client that could end that.
  if (!hasOwnKey) {
    const clients =
      refused.length === 0 ? 'no client yet' : 'no worker verified for the last client'
    return { ready: true, reason: `manifest verified, ${clients}`, ...withoutCause(state) }
  }
  return { ready: false, reason: 'no verified worker', ...state }
}

/** A failed refresh does not matter while an earlier verification is still valid. */
function withoutCause<State extends { cause?: string }>({ cause: _, ...state }: State) {
  return state
}

const ageSeconds = (since: string, at: Date): number =>
  Math.max(0, Math.floor((at.getTime() - Date.parse(since)) / 1000))
