/** The proxy as a whole: starts to listen at once, verifies the backend meanwhile, stops by draining. */
import { readFileSync } from 'node:fs'
import type { PrivateClient } from '@privatemode/sdk'
import { describeError, type Listener, type Log, listen } from '@privatemode/service'
import { createHandler } from './app.ts'
import type { App } from './app-state.ts'
import { createDefaultSalt } from './cache-salt.ts'
import { crossOriginHeaders } from './cross-origin.ts'
import { createDump } from './dump-requests.ts'
import { program } from './flag-table.ts'
import { createLocalGuard } from './guard.ts'
import { keepVerified } from './keep-verified.ts'
import { createLocalRoutes } from './local-routes.ts'
import { createProxyMetrics } from './proxy-metrics.ts'
import { readReadiness } from './readiness.ts'
import type { Settings } from './settings.ts'
import { createSilence } from './silence.ts'
import { readTls, watchTls } from './tls-files.ts'
import { formatPage } from './verification-page.ts'

export type Proxy = {
  readonly url: string
  readonly port: number
  /** Stops accepting, lets requests in flight end within the drain time, then closes everything. */
  stop(): Promise<void>
}

/** Starts a proxy over a client that is not connected yet; throws when it cannot listen. */
export function startProxy(settings: Settings, client: PrivateClient, log: Log): Proxy {
  const { mode, apiKey } = settings
  let draining = false
  const readiness = () => readReadiness(client, apiKey !== undefined, draining)
  const metrics = createProxyMetrics({
    openRequests: () => listener.pendingRequests(),
    verifiedWorkers: () => readiness().verified_workers,
    ready: () => readiness().ready,
  })
  const silence = createSilence()
  const dump = settings.dumpRequests
    ? createDump(settings.workspace, (error) => log.error('dump failed', describeError(error)))
    : undefined
  const app: App = {
    client,
    apiKey,
    defaultSalt: createDefaultSalt(settings.salt),
    bodyLimitBytes: settings.bodyLimitBytes,
    everyHeader: mode.kind === 'hosted' ? crossOriginHeaders : undefined,
    log,
    metrics,
    silence,
    dump,
  }
  const handler = createHandler({
    app,
    guard:
      mode.kind === 'local'
        ? createLocalGuard(settings.listen.address, mode.allowedHosts)
        : undefined,
    localRoutes: createLocalRoutes({
      readiness,
      verification: () => ({
        ready: readiness().ready,
        backend: settings.apiUrl,
        ...client.verification(),
      }),
      page: () =>
        formatPage({
          version: program.version,
          backend: settings.apiUrl,
          readiness: readiness(),
          verification: client.verification(),
          now: new Date(),
        }),
      metrics: settings.metrics ? metrics : undefined,
      deploymentManifest: readDeploymentManifest(settings),
    }),
  })
  const listener: Listener = listen({
    hostname: settings.listen.address,
    port: settings.listen.port,
    tls: settings.tls === undefined ? undefined : readTls(settings.tls),
    handler,
    limits: { bodyBytes: settings.bodyLimitBytes },
    onError: (error) => log.error('request failed inside the proxy', describeError(error)),
  })
  const stopTlsWatch = settings.tls === undefined ? () => {} : watchTls(settings.tls, listener, log)
  const keeper = keepVerified(client, apiKey, log)
  log.info('listening', {
    url: listener.url,
    port: listener.port,
    host: settings.apiUrl,
    version: program.version,
  })

  return {
    url: listener.url,
    port: listener.port,
    async stop() {
      draining = true
      keeper.stop()
      stopTlsWatch()
      const { cut } = await listener.stop({ graceMs: settings.drainMs })
      if (cut > 0) log.warn('requests cut at the end of the drain time', { count: cut })
      silence.stop()
      await dump?.settled()
    },
  }
}

function readDeploymentManifest({ mode }: Settings): string | undefined {
  if (mode.kind !== 'hosted' || mode.manifestPath === undefined) return undefined
  return readFileSync(mode.manifestPath, 'utf8')
}
