/** Makes the client that verifies the backend, from the settings. */
import { readFileSync } from 'node:fs'
import {
  AttestationError,
  type ClientEvent,
  createLogSource,
  createStaticSource,
  defaultMaxAnswerBytes,
  fetchLog,
  hardwareVerifiers,
  type Manifest,
  type ManifestSource,
  PrivateClient,
  vendorRoots,
} from '@privatemode/sdk'
import { type Log, type OutboundFetch, ServiceError } from '@privatemode/service'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import type { ManifestSetting, Settings } from './settings.ts'
import type { Workspace } from './workspace.ts'

export type ConnectOptions = {
  readonly settings: Settings
  readonly workspace: Workspace
  readonly fetch: OutboundFetch
  readonly log: Log
}

/** How many verified workers one request is sealed to: enough for the gateway to choose and to fail over. */
const candidates = 3
const retryBudgetMs = 15_000
const softwareWarning = 'worker verified by software attestation, which protects nothing'

export async function connect(options: ConnectOptions): Promise<PrivateClient> {
  const { settings, workspace, fetch, log } = options
  const { allowUnknown, graceHours } = settings.revocation
  const source = createSource(settings.manifest, workspace, fetch)
  const software = await loadSoftwareVerifier(settings.softwareRoot)
  return new PrivateClient({
    endpoint: settings.apiUrl,
    manifestSource: announced(source, log),
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

/** The code that accepts software evidence is loaded only where the settings allow it. */
async function loadSoftwareVerifier(softwareRoot: string | undefined) {
  if (softwareRoot === undefined) return undefined
  const { softwareVerifier } = await import('@privatemode/sdk/software')
  return softwareVerifier
}

function createSource(
  setting: ManifestSetting,
  workspace: Workspace,
  fetch: OutboundFetch,
): ManifestSource {
  const record = workspace.record
  switch (setting.kind) {
    case 'file':
      return createStaticSource(readManifestFile(setting.path), record)
    case 'log':
      return createLogSource({
        trust: setting.trust,
        read: fetchLog(setting.url, fetch),
        checkpoints: workspace.checkpoints,
        record,
      })
  }
}

function readManifestFile(path: string): Uint8Array {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new ServiceError(
      'file_unreadable',
      `--manifestPath names ${path}, which cannot be read; check the path and its permissions`,
      { cause },
    )
  }
}

/** Says once that the manifest was fetched, and again whenever it is another one. */
function announced(source: ManifestSource, log: Log): ManifestSource {
  let last: string | undefined
  return {
    ...source,
    async load() {
      const manifest = await source.load().catch(addRemedy)
      if (manifest.digest !== last) announce(manifest, last === undefined)
      last = manifest.digest
      return manifest
    },
  }

  function announce(manifest: Manifest, first: boolean): void {
    const fields = { manifest: manifest.digest, count: manifest.serial }
    if (!first) log.info('coordinator manifest changed', fields)
    else if (source.fixed) log.info('manifest read from file', fields)
    else log.info('coordinator manifest fetched successfully', fields)
  }
}

/** What a person can do about witnesses that have not signed; no other failure of the log has a remedy here. */
function addRemedy(error: unknown): never {
  if (!(error instanceof AttestationError) || error.code !== 'log_witnesses_missing') throw error
  throw new AttestationError(
    error.code,
    `${error.message}; this state of the manifest log may be shown to you alone: ask its operator, or correct the policy in --manifestLogKey`,
    { cause: error.cause },
  )
}

function logEvent(log: Log, event: ClientEvent): void {
  switch (event.kind) {
    case 'manifest-changed':
      log.debug('manifest loaded', { manifest: event.digest, count: event.serial })
      break
    case 'verified':
      if (event.hardware) log.info('worker verified', { worker: event.workerId })
      else log.warn(softwareWarning, { worker: event.workerId })
      break
    case 'refused':
      log.error('worker refused', { worker: event.workerId, code: event.code })
      break
    case 'unreachable':
      log.warn('worker unreachable', { worker: event.workerId, code: event.code })
      break
  }
}
