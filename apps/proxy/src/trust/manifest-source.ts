/** The manifest source selected by the settings: the log, or a manually managed file. */
import {
  AttestationError,
  createLogSource,
  createStaticSource,
  fetchLog,
  type Manifest,
  type ManifestSource,
  parseLogTrust,
} from '@privatemode/sdk'
import { type Log, type OutboundFetch, readNamedFile, ServiceError } from '@privatemode/service'
import type { ManifestSetting } from '../settings.ts'
import type { Workspace } from '../workspace.ts'

/** Throws on errors that a retry cannot fix: an unreadable file, an invalid manifest, an invalid key. */
export async function openManifestSource(
  setting: ManifestSetting,
  workspace: Workspace,
  fetch: OutboundFetch,
  log: Log,
): Promise<ManifestSource> {
  const source = createSource(setting, workspace, fetch)
  switch (setting.kind) {
    case 'file':
      await source.load().catch((error) => refuseSetting(`--manifestPath: ${setting.path}`, error))
      break
    case 'log':
      await parseLogTrust(setting.trust).catch((error) => refuseSetting('--manifestLogKey', error))
  }
  return announced(source, log)
}

function refuseSetting(what: string, error: unknown): never {
  if (!(error instanceof AttestationError)) throw error
  const remedy = 'ask the operator of the service for the right one'
  const message = `${what} cannot be used: ${error.message}; ${remedy}`
  throw new ServiceError('flag_invalid', message, { cause: error })
}

function createSource(
  setting: ManifestSetting,
  workspace: Workspace,
  fetch: OutboundFetch,
): ManifestSource {
  const record = workspace.record
  switch (setting.kind) {
    case 'file':
      return createStaticSource(readNamedFile('--manifestPath', setting.path), record)
    case 'log':
      return createLogSource({
        trust: setting.trust,
        read: fetchLog(setting.url, fetch),
        checkpoints: workspace.checkpoints,
        record,
        now: () => new Date(),
        maxAgeHours: setting.maxAgeHours,
      })
  }
}

/** Logs once that the manifest was fetched, and again whenever it changes. */
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
    // The Privatemode interface calls it the coordinator manifest in this line, so scripts look for it.
    if (!first) log.info('coordinator manifest changed', fields)
    else if (source.fixed) log.info('manifest read from file', fields)
    else log.info('coordinator manifest fetched successfully', fields)
  }
}

/** Adds what to do, where an operator or a user of the proxy can do something. */
function addRemedy(error: unknown): never {
  const remedy = error instanceof AttestationError ? remedyOf(error) : undefined
  if (!(error instanceof AttestationError) || remedy === undefined) throw error
  throw new AttestationError(error.code, `${error.message}; ${remedy}`, { cause: error.cause })
}

function remedyOf({ code, cause }: AttestationError): string | undefined {
  if (code === 'log_witnesses_missing') {
    return 'this state of the manifest log may have been shown only to you: ask its operator, or correct the policy in --manifestLogKey'
  }
  // A failed connection has a cause, with its own remedy; without one, some other server answered.
  if (code === 'log_unreachable' && cause === undefined) {
    return 'check --apiEndpoint or --manifestEndpoint'
  }
  return undefined
}
