/** Puts the parts of a gateway together and runs them. */
import {
  createLog,
  createOutbound,
  describeError,
  type Listener,
  type Log,
  listen,
} from '@privatemode/service'
import { createApp } from './app.ts'
import { staticFiles } from './files/static-files.ts'
import { KeyCheck } from './keys/key-check.ts'
import { startLastUse } from './keys/last-use.ts'
import { operatorCheck } from './operator/operator-token.ts'
import { WorkerView } from './registry/worker-view.ts'
import { BodyBudget } from './relay/body-budget.ts'
import type { Settings } from './settings.ts'
import type { Database } from './state/database.ts'
import { openDatabase } from './state/open-database.ts'

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

const keyAnswerMs = 1_000
const viewRefreshMs = 500

export async function startGateway(
  settings: Settings,
  surroundings: Surroundings = {},
): Promise<Gateway> {
  const log =
    surroundings.log ?? createLog({ format: settings.logFormat, level: settings.logLevel })
  const database = await openDatabase(settings.database)
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
  const outbound = createOutbound({ env: surroundings.env ?? {} })
  const view = new WorkerView({
    database,
    clock,
    refreshMs: viewRefreshMs,
    suspectMs: 2_000,
    onFailure: (error) => log.warn('workers could not be read', describeError(error)),
  })
  const keys = new KeyCheck({
    database,
    clock,
    maxAgeMs: keyAnswerMs,
    maxCached: 100_000,
    maxLookups: 256,
  })
  await view.start()
  const lastUse = startLastUse(database, keys, log)
  let listener: Listener
  try {
    listener = listen({
      hostname: settings.host,
      port: settings.port,
      tls: settings.tls,
      limits: { bodyBytes: settings.limits.bodyBytes, requests: settings.limits.requests },
      onError: (error) => log.error('a request failed', describeError(error)),
      handler: createApp({
        relay: {
          keys,
          view,
          bodies: new BodyBudget({
            maxBytes: settings.limits.bodyBytes,
            heldBytes: settings.limits.heldBodyBytes,
            heldBytesTotal: settings.limits.heldBodyBytesTotal,
          }),
          fetch: outbound.fetch,
          log,
          clock,
          random: Math.random,
          limits: settings.limits,
        },
        registry: { database, view, leaseSeconds: settings.limits.leaseSeconds },
        checkOperator: operatorCheck(settings.operatorToken),
        manifestLog: settings.logDir === undefined ? undefined : staticFiles(settings.logDir),
        attestationTimeoutMs: settings.limits.attestationTimeoutMs,
        log,
      }),
    })
  } catch (error) {
    await lastUse.stop()
    await view.close()
    throw error
  }
  log.info('gateway is ready', { url: listener.url })
  return {
    url: listener.url,
    port: listener.port,
    async stop() {
      const { cut } = await listener.stop({ graceMs: settings.limits.drainMs })
      await lastUse.stop()
      await view.close()
      outbound.close()
      await database.close()
      log.info('gateway has stopped', { count: cut })
      log.flush()
    },
  }
}
