/** Assembles and runs the parts of a gateway. */
import { type HttpServer, serveHttp } from '@privatemode/http'
import {
  createLog,
  createOutbound,
  describeError,
  FairShare,
  type Log,
  logLevels,
  Tracer,
} from '@privatemode/service'
import { CallsAtOnce } from './admin/calls-at-once.ts'
import { createApp } from './app.ts'
import { staticFiles } from './files/static-files.ts'
import { newId } from './keys/api-key.ts'
import { KeyCheck } from './keys/key-check.ts'
import { startLastUse } from './keys/last-use.ts'
import { Limiter } from './limits/limiter.ts'
import { oidcSignIn } from './members/oidc.ts'
import { openAdmissions } from './metering/admissions.ts'
import { BookingQueue } from './metering/booking-queue.ts'
import { ExpectedUsage } from './metering/expected-usage.ts'
import { ReceiptKeys } from './metering/receipt-keys.ts'
import { createGatewayMetrics } from './metrics/gateway-metrics.ts'
import { LostWorkers } from './registry/lost-workers.ts'
import { WorkerView } from './registry/worker-view.ts'
import { BodyBudget } from './relay/body-budget.ts'
import type { Settings } from './settings.ts'
import type { Database } from './state/database.ts'
import { endWhenLost } from './state/end-when-lost.ts'
import { openDatabase } from './state/open-database.ts'
import { tokenCheck } from './tokens/token-check.ts'

export type Gateway = {
  readonly url: string
  readonly port: number
  /** Lets running requests end within the drain time, then closes the database. */
  stop(): Promise<void>
}

export type Surroundings = {
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly log?: Log
}

/** How often the database is polled for changes by others, and after what time all have polled. */
const paces = {
  server: { keyAnswerMs: 1_000, viewRefreshMs: 500, lingerSeconds: 3 },
  // It has a single gateway, which knows every change it makes.
  embedded: { keyAnswerMs: 1_500, viewRefreshMs: 2_000, lingerSeconds: 0 },
} as const

/** Per member; a page of the portal makes a few calls. */
const adminCallsAtOnce = 16

export async function startGateway(
  settings: Settings,
  surroundings: Surroundings = {},
): Promise<Gateway> {
  const log =
    surroundings.log ?? createLog({ format: settings.logFormat, level: settings.logLevel })
  const database = await openDatabase(settings.database, endWhenLost(log))
  try {
    return await assemble(settings, surroundings, database, log)
  } catch (error) {
    await database.close()
    throw error
  }
}

async function assemble(
  settings: Settings,
  surroundings: Surroundings,
  database: Database,
  log: Log,
): Promise<Gateway> {
  const clock = () => performance.now()
  const { keyAnswerMs, viewRefreshMs, lingerSeconds } = paces[settings.database.kind]
  const env = surroundings.env ?? {}
  const outbound = createOutbound({ env })
  // Workers are nearby: the proxy for outbound connections does not apply to them.
  const toWorkers = createOutbound({
    env: { SSL_CERT_FILE: env.SSL_CERT_FILE },
    ca: settings.workerCa,
  })
  const pool = toWorkers.openPool(settings.limits.workers)
  const view = new WorkerView({
    database,
    clock,
    lost: new LostWorkers({
      database,
      pool,
      clock,
      graceMs: settings.limits.lostWorkerMs,
      onGivenUp: ({ worker }, count) => {
        log.warn('worker is unresponsive; aborted its requests', { worker: worker.id, count })
      },
    }),
    refreshMs: viewRefreshMs,
    suspectMs: 2_000,
    onFailure: (error) => log.warn('failed to read the list of workers', describeError(error)),
  })
  const keys = new KeyCheck({
    database,
    clock,
    maxAgeMs: keyAnswerMs,
    maxCached: 100_000,
    maxLookups: 256,
  })
  const admissions = await openAdmissions(database)
  await view.start()
  const lastUse = startLastUse(database, keys, log)
  const keyRefresh = setInterval(() => void keys.refresh(), keyAnswerMs / 2)
  const metrics = createGatewayMetrics()
  const { usageGraceMs, reserveTokens } = settings.limits
  const limiter = new Limiter({
    ...{ database, clock, gatewayId: newId('gw'), usageGraceMs, answerTokens: reserveTokens },
  })
  const expected = new ExpectedUsage({
    database,
    log,
    clock,
    graceMs: usageGraceMs,
  })
  const tracer =
    settings.tracing &&
    new Tracer({
      settings: settings.tracing,
      fetch: outbound.fetch,
      onDropped: (count) => metrics.droppedSpans.add(count),
    })
  let server: HttpServer
  const app = createApp({
    relay: {
      keys,
      view,
      bodies: new BodyBudget(settings.limits.bodies),
      pool,
      limiter,
      shares: new FairShare(),
      admissions,
      expected,
      metrics,
      log,
      tracer,
      logsRequests: settings.logLevel <= logLevels.debug,
      clock,
      random: Math.random,
      limits: settings.limits,
    },
    registry: { database, view, leaseSeconds: settings.limits.leaseSeconds, lingerSeconds },
    usage: {
      ...{ booking: new BookingQueue(database), receiptKeys: new ReceiptKeys(database) },
      ...{ admissions, expected, log, metrics },
    },
    fetch: toWorkers.fetch,
    tokens: {
      admin: tokenCheck('admin', settings.adminToken),
      register: tokenCheck('register', settings.registerToken),
      metrics: settings.metricsToken && tokenCheck('metrics', settings.metricsToken),
    },
    admin: {
      database,
      get publicUrl() {
        return settings.publicUrl ?? server.url
      },
      workers: () => view.list(),
      refreshWorkers: () => view.refresh(),
      forgetKeys: () => keys.forget(),
      oidc: settings.oidc && oidcSignIn(settings.oidc, log),
      atOnce: new CallsAtOnce(adminCallsAtOnce),
    },
    portal: settings.portalDir === undefined ? undefined : staticFiles(settings.portalDir),
    watching: { metrics, enabled: settings.metrics },
    manifestLog: settings.logDir === undefined ? undefined : staticFiles(settings.logDir),
    forwardedHops: settings.limits.forwardedHops,
    attestationTimeoutMs: settings.limits.attestationTimeoutMs,
    maxRequests: settings.limits.requests,
    log,
  })
  const close = async () => {
    pool.close()
    await tracer?.close()
    outbound.close()
    toWorkers.close()
    clearInterval(keyRefresh)
    await lastUse.stop()
    await view.close()
    await expected.close()
    await limiter.close()
  }
  try {
    server = serveHttp({
      hostname: settings.host,
      port: settings.port,
      tls: settings.tls,
      limits: settings.limits.clients,
      begin: app.begin,
      refuse: app.refuse,
    })
  } catch (error) {
    await close()
    throw error
  }
  metrics.gauge('running', app.running)
  metrics.gauge('connections', server.connections)
  metrics.gauge('worker_connections', () => pool.connections)
  metrics.gauge('workers', () => view.list().length)
  metrics.gauge('awaited_usage', () => expected.waiting)
  log.info('gateway is ready', { url: server.url })
  return {
    url: server.url,
    port: server.port,
    async stop() {
      const { cut } = await server.stop(settings.limits.drainMs)
      await close()
      await database.close()
      log.info('gateway has stopped', { count: cut })
      log.flush()
    },
  }
}
