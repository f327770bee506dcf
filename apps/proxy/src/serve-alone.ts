/** Serves in this process: client, proxy, and graceful shutdown. */
import { createLog, createOutbound, type Log, onShutdown } from '@privatemode/service'
import { startProxy } from './proxy.ts'
import { refuseStart } from './refuse-start.ts'
import type { Settings } from './settings.ts'
import { connect } from './trust/connect.ts'
import { openManifestSource } from './trust/manifest-source.ts'
import { openWorkspace } from './workspace.ts'

/** How long the process may take to exit after the drain time. */
export const endMarginMs = 5_000
/** A backend connection without traffic for this long counts as lost, even during a long prefill. */
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
