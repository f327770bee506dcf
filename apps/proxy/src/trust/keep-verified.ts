/** Verifies the backend at startup, retries on failure, and keeps the verification fresh. */
import type { PrivateClient } from '@privatemode/sdk'
import { describeError, type Log, type Secret } from '@privatemode/service'

export type Keeper = {
  /** Why the last round failed; undefined if it succeeded. */
  cause(): { readonly code: string; readonly detail?: string } | undefined
  stop(): void
}

const firstPauseMs = 500
const longestPauseMs = 30_000
const freshenMs = 60_000

/**
 * Without its own key, the proxy only loads the manifest; workers are verified with the first
 * client's key.
 */
export function keepVerified(
  client: PrivateClient,
  apiKey: Secret | undefined,
  log: Log,
  onReady: (how: 'manifest' | 'verified') => void,
): Keeper {
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopped = false
  let pauseMs = firstPauseMs
  let wasReady = false
  let cause: ReturnType<typeof describeError> | undefined

  async function round(): Promise<void> {
    try {
      await client.loadManifest()
      if (apiKey !== undefined) await verifyAndWarm(client, apiKey.reveal())
      if (!wasReady) onReady(apiKey === undefined ? 'manifest' : 'verified')
      wasReady = true
      cause = undefined
      pauseMs = firstPauseMs
      again(freshenMs)
    } catch (error) {
      wasReady = false
      cause = withTrialFlags(describeError(error), client.verification().manifest?.evidence)
      log.error('the backend is not verified', cause)
      again(pauseMs)
      pauseMs = Math.min(pauseMs * 2, longestPauseMs)
    }
  }

  function again(afterMs: number): void {
    if (!stopped) timer = setTimeout(() => void round(), afterMs).unref()
  }

  void round()
  return {
    cause: () => cause,
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

const trialFlags =
  'this is a trial backend; to use it, set --allowSoftwareAttestation and --softwareRootFingerprint'

/**
 * Names the flags that a trial needs only if the manifest says that it is one: a backend that fails
 * to prove its hardware must not be able to talk anyone into accepting software evidence.
 */
function withTrialFlags(
  cause: ReturnType<typeof describeError>,
  evidence: 'hardware' | 'software' | undefined,
): ReturnType<typeof describeError> {
  const unverifiable = cause.detail?.startsWith('software/verifier') === true
  if (evidence !== 'software' || !unverifiable) return cause
  return { ...cause, detail: `${cause.detail}: ${trialFlags}` }
}

/** Seals an unsent call for each model, so that the first real one finds its session established. */
async function verifyAndWarm(client: PrivateClient, apiKey: string): Promise<void> {
  await client.ready(apiKey)
  const models = new Set(client.verification().workers.flatMap((worker) => worker.models))
  for (const model of models) {
    await client.prepare({
      path: '/v1/chat/completions',
      model,
      body: new Uint8Array(),
      stream: false,
      apiKey,
    })
  }
}
