/** Serves in this process: client, proxy, and an orderly end. */
import { createLog, createOutbound, type Log, onShutdown } from '@privatemode/service'
import { startProxy } from './proxy.ts'
import { refuseStart } from './refuse-start.ts'
import type { Settings } from './settings.ts'
import { connect } from './trust/connect.ts'
import { openManifestSource } from './trust/manifest-source.ts'
import { openWorkspace } from './workspace.ts'

/** How long after the drain time the process may take to end. */
export const endMarginMs = 5_000
/** Nothing moving on a connection to the backend for this long is a loss, also in a long prefill. */
export const backendIdleMs = 600_000

export async function serveAlone(settings: Settings): Promise<void> {
  const log = createLog(settings.log)
  try {
    const workspace = openWorkspace(settings.workspace)
    const outbound = createOutbound({ env: process.env, idleTimeoutMs: backendIdleMs })
    const source = await openManifestSource(settings.manifest, workspace, outbound.fetch, log)
    const client = await connect({ settings, source, fetch: outbound.fetch, log })
    const proxy = startProxy(settings, { client, outbound, env: process.env, log })
    warnOfDumps(settings, log)
    onShutdown({
      limitMs: settings.drainMs + endMarginMs,
      async stop(signal) {
        log.info('stopping: waiting for requests in flight', { signal })
        await proxy.stop()
        outbound.close()
        log.info('stopped')
        log.flush()
      },
    })
  } catch (error) {
    log.flush()
    refuseStart(error)
  }
}

export function warnOfDumps({ dumpRequests, workspace }: Settings, log: Log): void {
  if (!dumpRequests) return
  log.warn(
    'requests and responses are dumped in clear text; use --dumpRequests for debugging only',
    { file: workspace },
  )
}
