/** Creates the client that verifies the backend, from the settings. */
import {
  type ClientEvent,
  defaultMaxAnswerBytes,
  hardwareVerifiers,
  type ManifestSource,
  PrivateClient,
  revocationWords,
  vendorRoots,
} from '@privatemode/sdk'
import type { Log, OutboundFetch } from '@privatemode/service'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import type { Settings } from '../settings.ts'

export type ConnectOptions = {
  readonly settings: Settings
  readonly source: ManifestSource
  readonly fetch: OutboundFetch
  readonly log: Log
}

/** How many verified workers one request is sealed to: enough for the gateway to choose and fail over. */
const candidates = 3
const retryBudgetMs = 15_000
const logWarning =
  'manifest log has not been signed for a while; requests will fail unless its operator signs it'
const expiryWarning =
  'manifest is about to expire; requests will fail unless its operator publishes a new one'
const softwareWarning = 'worker verified by software attestation, which protects nothing'

export async function connect(options: ConnectOptions): Promise<PrivateClient> {
  const { settings, source, fetch, log } = options
  const { allowUnknown, graceHours } = settings.revocation
  const software = await loadSoftwareVerifier(settings.softwareRoot)
  return new PrivateClient({
    endpoint: settings.apiUrl,
    manifestSource: source,
    roots: { ...vendorRoots, software: settings.softwareRoot ? [settings.softwareRoot] : [] },
    revocation: { allowUnknown, revokedGraceHours: graceHours },
    hardware: hardwareVerifiers,
    ...(software === undefined ? {} : { software }),
    crypto: nativeCrypto,
    fetch,
    shape: settings.shape,
    now: () => new Date(),
    onEvent: (event) => logEvent(log, event),
    candidates,
    maxAnswerBytes: defaultMaxAnswerBytes,
    retryBudgetMs,
  })
}

/** The code that accepts software evidence is loaded only if the settings allow it. */
async function loadSoftwareVerifier(softwareRoot: string | undefined) {
  if (softwareRoot === undefined) return undefined
  const { softwareVerifier } = await import('@privatemode/sdk/software')
  return softwareVerifier
}

function logEvent(log: Log, event: ClientEvent): void {
  switch (event.kind) {
    case 'manifest-changed':
      log.debug('manifest loaded', { manifest: event.digest, count: event.serial })
      break
    case 'log-unreachable':
      log.warn('manifest log unreachable; the manifest in force is kept for now', {
        detail: event.reason,
        asOf: event.asOf?.toISOString(),
        until: event.until?.toISOString(),
      })
      break
    case 'manifest-aging': {
      const times = { asOf: event.asOf?.toISOString(), until: event.until.toISOString() }
      if (event.what === 'log') log.warn(logWarning, times)
      else log.warn(expiryWarning, times)
      break
    }
    case 'log-recovered':
      log.info('manifest log is up to date again', { code: event.warning })
      break
    case 'verified':
      if (event.hardware) {
        const detail = revocationWords[event.revocation]
        log.info('worker verified', { worker: event.workerId, detail })
      } else log.warn(softwareWarning, { worker: event.workerId })
      break
    case 'refused':
      log.error('worker refused', { worker: event.workerId, code: event.code })
      break
    case 'unreachable':
      log.warn('worker unreachable', { worker: event.workerId, code: event.code })
      break
  }
}
