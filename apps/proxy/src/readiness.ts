/** Whether the proxy can serve: the manifest is there and, as far as the proxy has a key to look, so is a worker. */
import type { PrivateClient } from '@privatemode/sdk'

export type Readiness = {
  readonly ready: boolean
  readonly reason: string
  readonly manifest: string | null
  readonly verified_workers: number
}

export function readReadiness(
  client: PrivateClient,
  hasOwnKey: boolean,
  draining: boolean,
): Readiness {
  const { manifest, workers, refused } = client.verification()
  const now = new Date().toISOString()
  const verified = workers.filter((worker) => worker.valid_until > now).length
  const state = { manifest: manifest?.digest ?? null, verified_workers: verified }
  if (draining) return { ready: false, reason: 'draining', ...state }
  if (manifest === undefined) return { ready: false, reason: 'no manifest yet', ...state }
  if (verified > 0) return { ready: true, reason: 'backend verified', ...state }
  // Without a key of its own the proxy meets the backend with the first client's.
  if (!hasOwnKey && refused.length === 0) {
    return { ready: true, reason: 'manifest verified, no client yet', ...state }
  }
  return { ready: false, reason: 'no verified worker', ...state }
}
