/** Serves with several processes to use several cores: starts, supervises and stops them together. */
import { probePort } from '@privatemode/http'
import { createLog, createOutbound, onShutdown, ServiceError } from '@privatemode/service'
import { program } from '../flag-table.ts'
import { refuseStart } from '../refuse-start.ts'
import { backendIdleMs, endMarginMs, warnOfDumps } from '../serve-alone.ts'
import type { Settings } from '../settings.ts'
import { readTls } from '../tls-files.ts'
import { openManifestSource } from '../trust/manifest-source.ts'
import { openWorkspace } from '../workspace.ts'
import { handSettings } from './handed-settings.ts'
import { createManifestLender } from './lent-manifest.ts'
import { ServingProcesses } from './serving-processes.ts'

export async function supervise(settings: Settings): Promise<void> {
  const log = createLog({ ...settings.log, sharedOutput: true })
  let isStopping = false
  try {
    if (process.platform !== 'linux') {
      throw new ServiceError(
        'flag_invalid',
        '--workers above 1 needs Linux, whose kernel shares a port among processes; leave it out',
      )
    }
    const workspace = openWorkspace(settings.workspace)
    if (settings.tls !== undefined) readTls(settings.tls)
    const outbound = createOutbound({ env: process.env, idleTimeoutMs: backendIdleMs })
    const source = await openManifestSource(settings.manifest, workspace, outbound.fetch, log)
    const lender = createManifestLender(source)
    const { address, port } = settings.listen
    const listen = { address, port: probePort(address, port) }
    const handed = handSettings({ ...settings, listen })
    const serving = new ServingProcesses(
      settings.processes,
      {
        // One process probes the caches on behalf of all.
        settings: async (index) => (index === 0 ? handed : { ...handed, cacheCheckMs: undefined }),
        manifest: () => lender.load(),
        async enforced({ digest, atMs }) {
          await lender.enforced(digest, new Date(atMs))
          return null
        },
      },
      log,
    )
    onShutdown({
      limitMs: settings.drainMs + endMarginMs,
      exit(code) {
        serving.kill()
        process.exit(code)
      },
      async stop(signal) {
        isStopping = true
        log.info('stopping: waiting for requests in flight', { signal })
        await serving.stop()
        outbound.close()
        log.info('stopped')
        log.flush()
      },
    })
    const url = await serving.start()
    const { processes, apiUrl } = settings
    const { version } = program
    log.info('listening', { url, port: listen.port, host: apiUrl, version, count: processes })
    warnOfDumps(settings, log)
  } catch (error) {
    log.flush()
    if (isStopping) return // it was told to stop before it had started
    refuseStart(error)
  }
}
