/** The whole proxy: listens immediately, verifies the backend meanwhile, and drains when stopped. */
import { readFileSync } from 'node:fs'
import { serveHttp } from '@privatemode/http'
import type { PrivateClient } from '@privatemode/sdk'
import { describeError, type Log, type Outbound } from '@privatemode/service'
import { type AppParts, handle, refuse } from './app.ts'
import type { App } from './app-state.ts'
import { createAnswerTimeouts } from './exchange/answer-timeouts.ts'
import { createMessageFormat, openBackendLink } from './exchange/backend-link.ts'
import { createPaddingDrains } from './exchange/padding-drains.ts'
import { openReceiptFile } from './exchange/receipt-file.ts'
import { shapedLeg } from './exchange/shaped-leg.ts'
import { createHeartbeats } from './exchange/stream-heartbeat.ts'
import { program } from './flag-table.ts'
import { createDefaultSalt } from './inbound/cache-salt.ts'
import { crossOriginHeaders } from './inbound/cross-origin.ts'
import { createDump } from './inbound/dump-requests.ts'
import { createLocalGuard } from './inbound/guard.ts'
import { createLocalRoutes } from './inbound/local-routes.ts'
import { formatPage, ownOrigin } from './inbound/verification-page.ts'
import type { Report } from './processes/questions.ts'
import { createProxyMetrics } from './proxy-metrics.ts'
import type { Settings } from './settings.ts'
import { readTls, watchTls } from './tls-files.ts'
import { watchCaches } from './trust/cache-watch.ts'
import { keepVerified } from './trust/keep-verified.ts'
import { readReadiness } from './trust/readiness.ts'

export type Proxy = {
  readonly url: string
  readonly port: number
  /** The state of this process. */
  report(): Report
  /** Stops accepting, lets requests in flight end within the drain time, then closes everything. */
  stop(): Promise<void>
}

export type ProxyParts = {
  readonly client: PrivateClient
  /** Outbound connections; they stay open when the proxy stops. */
  readonly outbound: Outbound
  readonly env: Readonly<Record<string, string | undefined>>
  readonly log: Log
  /** Present if several processes serve together. */
  readonly joint?: Joint
}

/** How one of several processes communicates with the others through their supervisor. */
export type Joint = {
  /** The state of all of them. */
  readonly report: () => Promise<Report>
  readonly ready: () => void
}

/** Limits on connections and body bytes across all processes, and time limits per connection. */
const limits = {
  connections: 8192,
  heldBodyBytes: 512 * 1024 * 1024,
  idleSeconds: 120,
  headSeconds: 30,
  stallSeconds: 120,
}

/** Starts a proxy with a client that is not connected yet; throws if it cannot listen. */
export function startProxy(settings: Settings, parts: ProxyParts): Proxy {
  const { client, log, joint } = parts
  const { mode, apiKey, processes } = settings
  let draining = false
  // A public endpoint reveals only the code: details may name the operator's machines.
  const cause = () => {
    const known = keeper.cause()
    if (known?.detail === undefined || mode.kind === 'hosted') return known?.code
    return `${known.detail} (${known.code})`
  }
  const readiness = () => readReadiness(client, apiKey !== undefined, draining, cause())
  const metrics = createProxyMetrics({
    openRequests: () => server.busy(),
    verifiedWorkers: () => readiness().verified_workers,
    ready: () => readiness().ready,
    logSignedAt: () => seconds(client.verification().manifest?.log_signed_at),
    usableUntil: () => seconds(client.verification().manifest?.usable_until),
  })
  const heartbeats = createHeartbeats()
  const answers = createAnswerTimeouts(settings.answers)
  const drains = createPaddingDrains()
  const dump = settings.dumpRequests
    ? createDump(settings.workspace, (error) => log.error('dump failed', describeError(error)))
    : undefined
  const receipts =
    settings.receipts === undefined
      ? undefined
      : openReceiptFile(settings.receipts, (error) =>
          log.error('receipts were lost', describeError(error)),
        )
  const backend = openBackendLink(settings.apiUrl, parts.outbound, parts.env)
  const app: App = {
    client,
    backend,
    formatMessage: createMessageFormat(settings.apiUrl),
    apiKey,
    defaultSalt: createDefaultSalt(settings.salt),
    bodyLimitBytes: settings.bodyLimitBytes,
    everyHeader: mode.kind === 'hosted' ? crossOriginHeaders : undefined,
    shape: settings.shape,
    leg: mode.kind === 'hosted' ? shapedLeg(settings.shape) : undefined,
    drains,
    log,
    metrics,
    heartbeats,
    answers,
    dump,
    receipts,
  }
  const { cacheCheckMs: everyMs, salt } = settings
  const caches =
    everyMs === undefined || apiKey === undefined
      ? undefined
      : watchCaches({ ...app, apiKey, salt, everyMs })
  const verification = () => ({
    ready: readiness().ready,
    backend: settings.apiUrl,
    ...client.verification(),
    ...(caches === undefined ? {} : { cache_checks: caches.checks() }),
  })
  const { manifest, tls, listen } = settings
  const page = (host: string | undefined) =>
    formatPage({
      quorum: manifest.kind === 'log' ? manifest.trust.quorum : 0,
      origin: ownOrigin(host, tls !== undefined, listen.port),
      portalUrl: settings.apiUrl,
      version: program.version,
      backend: settings.apiUrl,
      readiness: readiness(),
      verification: client.verification(),
      cacheChecks: caches?.checks(),
      now: new Date(),
    })
  const appParts: AppParts = {
    app,
    guard:
      mode.kind === 'local'
        ? createLocalGuard(settings.listen.address, mode.allowedHosts)
        : undefined,
    localRoutes: createLocalRoutes({
      readiness,
      verification,
      page,
      metrics: settings.metrics ? () => metrics.registry.format() : undefined,
      joint: joint?.report,
      deploymentManifest: readDeploymentManifest(settings),
    }),
  }
  const server = serveHttp({
    hostname: settings.listen.address,
    port: settings.listen.port,
    tls: settings.tls === undefined ? undefined : readTls(settings.tls),
    shared: processes > 1,
    limits: {
      ...limits,
      connections: Math.ceil(limits.connections / processes),
      heldBodyBytes: Math.max(limits.heldBodyBytes / processes, settings.bodyLimitBytes),
    },
    begin: (exchange) => handle(appParts, exchange),
    refuse: (exchange, error) => refuse(app, exchange, error),
  })
  const stopTlsWatch = settings.tls === undefined ? () => {} : watchTls(settings.tls, server, log)
  // With several processes, the supervisor announces it once all are ready.
  const announce = joint === undefined ? log.info : log.debug
  const keeper = keepVerified(client, apiKey, log, (outcome) => {
    announce('ready', { outcome })
    joint?.ready()
  })
  const { url, port } = server
  announce('listening', { url, port, host: settings.apiUrl, version: program.version })

  return {
    url,
    port,
    report: () => ({ readiness: readiness(), metrics: metrics.registry.format() }),
    async stop() {
      draining = true
      keeper.stop()
      caches?.stop()
      stopTlsWatch()
      const { cut } = await server.stop(settings.drainMs)
      if (cut > 0) log.warn('aborted requests at the end of the drain time', { count: cut })
      heartbeats.stop()
      answers.stop()
      receipts?.stop()
      drains.stop()
      backend.close()
      await dump?.settled()
    },
  }
}

function readDeploymentManifest({ mode }: Settings): string | undefined {
  if (mode.kind !== 'hosted' || mode.manifestPath === undefined) return undefined
  return readFileSync(mode.manifestPath, 'utf8')
}

const seconds = (time: string | null | undefined): number =>
  time == null ? 0 : Math.floor(Date.parse(time) / 1000)
