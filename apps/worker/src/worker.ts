/** One worker: an engine, keys and evidence behind an HTTP interface, registered at a gateway. */
import { randomBytes } from 'node:crypto'
import type { ModelListing } from '@privatemode/attestation'
import { type HttpServer, serveHttp } from '@privatemode/http'
import type { Engine, EngineModel } from '@privatemode/inference'
import { MeteredEngine } from '@privatemode/inference/metered-engine'
import { ReplayGuard } from '@privatemode/protocol/envelope'
import { type CaBundle, createLog, createOutbound, type Log } from '@privatemode/service'
import { createWorkerServer } from './app.ts'
import { type EngineChoice, engineShares, workerCapacity } from './engine-settings.ts'
import { chooseEvidence, type EvidenceSurroundings } from './evidence/choose-evidence.ts'
import { measureSources } from './evidence/software-measurement.ts'
import { serveMetrics } from './metrics/serve-metrics.ts'
import { createWorkerMetrics } from './metrics/worker-metrics.ts'
import { RegisterToken } from './provisioning/register-token.ts'
import { Registration } from './registration/registration.ts'
import { UsageReporter } from './registration/usage-reporter.ts'
import { RelayGuard } from './relay/accept-relay.ts'
import { RelayKeys } from './relay/relay-keys.ts'
import type { SealedService } from './sealed/answer-sealed.ts'
import { EnginePace } from './sealed/engine-pace.ts'
import { ReceiptSigner } from './sealed/receipts.ts'
import { RequestMemory } from './sealed/request-memory.ts'
import { SealKeys } from './sealed/seal-keys.ts'
import { contradiction, program, type Settings } from './settings.ts'

const connectionLimits = {
  ...{ connections: 8192, idleSeconds: 255, headSeconds: 60, stallSeconds: 255 },
  // A request reserves its memory before its body is read.
  heldBodyBytes: Number.POSITIVE_INFINITY,
}

export type Worker = {
  readonly workerId: string
  readonly url: string
  /** Address of its metrics, if enabled. */
  readonly metricsUrl: string | undefined
  /**
   * Deregisters, serves until every gateway has noticed, lets running answers end, reports their
   * usage, stops.
   */
  stop(): Promise<void>
}

/** What a worker gets from its environment; tests supply their own engine, clock and keys. */
export type Surroundings = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly createEngine: (choice: EngineChoice, log: Log) => Promise<Engine>
  readonly log?: Log
  /** The number of lines native code has printed, if counted. */
  readonly nativeLines?: (() => number) | undefined
  readonly now?: () => Date
  readonly pause?: (ms: number) => Promise<void>
  readonly machine?: EvidenceSurroundings['machine']
  readonly relayKeys?: RelayKeys
  readonly shapeOf?: SealedService['shapeOf']
}

export async function startWorker(settings: Settings, surroundings: Surroundings): Promise<Worker> {
  const registerToken = readRegisterToken(settings)
  const log =
    surroundings.log ?? createLog({ format: settings.logFormat, level: settings.logLevel })
  const { env, machine } = surroundings
  const { now = () => new Date(), pause = Bun.sleep } = surroundings
  const outbound = createOutbound({ env })
  const toGateway = createOutbound({ env, ca: gatewayCa(settings) })
  const around = { env, log, now, machine, fetch: outbound.fetch }
  const evidence = await chooseEvidence(settings.attestation, around)
  const engine = await surroundings.createEngine(settings.engine, log)
  const workerId = `w_${randomBytes(8).toString('hex')}`
  const signer = new ReceiptSigner()
  const models = engine.models()
  const build = `${program.name} ${program.version}`
  const facts = { workerId, receiptKey: signer.publicKey, models: models.map(listing), build }
  const keys = new SealKeys({ ...facts, engine: engine.name }, now)
  const reporter = new UsageReporter((all) => registration.postUsage(signer.signReport(all)), log)
  const guard = new ReplayGuard()
  const metrics = createWorkerMetrics(models.map(({ id }) => id))
  const watched = new MeteredEngine(
    engine,
    metrics,
    engineShares(settings.engine, settings.keySharePercent),
  )
  metrics.gaugeIsolation(() => watched.isolation())
  const unsigned = new Set<Promise<void>>()
  const service: SealedService = {
    ...{ workerId, engine: watched, keys, guard, signer, now, pace: new EnginePace() },
    ...(surroundings.shapeOf === undefined ? {} : { shapeOf: surroundings.shapeOf }),
    meter(usage, record, countedBy) {
      reporter.add(usage)
      metrics.answered(record, countedBy)
    },
    held(record) {
      unsigned.add(record)
      void record.finally(() => unsigned.delete(record))
    },
  }
  const { maxBodyBytes, maxRequests } = settings
  const requestMemory = new RequestMemory(settings.maxBodyBytesTotal)
  const relayKeys = surroundings.relayKeys ?? new RelayKeys()
  const relays = new RelayGuard(workerId, relayKeys, now)
  const { begin, refuse, running } = createWorkerServer({
    ...{ service, evidence, relays, log, metrics, maxBodyBytes, maxRequests, requestMemory },
    ...{ registerToken, attestAtOnce: 32 },
  })
  const listener = serveHttp({
    ...{ hostname: settings.host, port: settings.port, tls: undefined, begin, refuse },
    limits: connectionLimits,
  })
  metrics.gauge('active_requests', running)
  const { nativeLines } = surroundings
  if (nativeLines !== undefined) metrics.gauge('native_lines', nativeLines)
  metrics.gauge('request_bytes', () => requestMemory.takenBytes)
  metrics.gauge('usage_waiting', () => reporter.waiting)
  const metricsListener = serveMetrics(settings, metrics)
  let draining = false
  const registration = new Registration({
    gatewayUrl: settings.gatewayUrl,
    registerToken: () => registerToken.current(),
    onListed: () => registerToken.accepted(),
    workerId,
    url: settings.publicUrl ?? listener.url,
    receiptKey: signer.publicKey,
    relayKeys,
    capacity: workerCapacity(settings.maxRequests, settings.engine),
    fetch: toGateway.fetch,
    log,
    state: async () => ({
      sealKeyId: (await keys.current()).id,
      models,
      active: running(),
      draining,
    }),
  })
  if (settings.awaitRegisterToken) {
    log.info('waiting for a register token', { url: listener.url, worker: workerId })
  }
  await registerToken.delivered
  await registration.start()
  log.info('worker is ready', { url: listener.url, worker: workerId, count: models.length })
  return {
    workerId,
    url: listener.url,
    metricsUrl: metricsListener?.url,
    async stop() {
      draining = true
      const { drainMs } = settings
      const lingerMs = Math.min(await registration.leave(), drainMs)
      // Closing the port at once would lose requests that other gateways still send.
      if (lingerMs > 0) await pause(lingerMs)
      await stopParts(listener, unsigned, reporter, engine, drainMs - lingerMs, log)
      await metricsListener?.stop()
      evidence.close()
      outbound.close()
      toGateway.close()
    },
  }
}

function readRegisterToken({ registerToken, awaitRegisterToken }: Settings): RegisterToken {
  if (registerToken === undefined && !awaitRegisterToken) {
    throw contradiction("set --registerToken to the gateway's register token")
  }
  return new RegisterToken(registerToken)
}

function gatewayCa({ gatewayCaPath: path }: Settings): CaBundle | undefined {
  return path === undefined ? undefined : { path, setting: 'gatewayCaPath' }
}

async function stopParts(
  listener: HttpServer,
  unsigned: ReadonlySet<Promise<void>>,
  reporter: UsageReporter,
  engine: Engine,
  graceMs: number,
  log: Log,
): Promise<void> {
  const { cut } = await listener.stop(graceMs)
  await Promise.allSettled(unsigned) // the engine bounds how long counts may take
  await reporter.flush(5_000)
  await engine.close()
  log.info('worker stopped', { count: cut })
  log.flush()
}

export type WorkerDescription = {
  /** Hex: the measurement in software evidence. */
  readonly measurement: string
  readonly models: readonly ModelListing[]
}

/** What a manifest must list for clients to accept this worker. */
export async function describeWorker(
  settings: Settings,
  createEngine: Surroundings['createEngine'],
): Promise<WorkerDescription> {
  const log = createLog({ format: settings.logFormat, level: settings.logLevel })
  const engine = await createEngine(settings.engine, log)
  const models = engine.models().map(listing)
  await engine.close()
  return { measurement: Buffer.from(measureSources()).toString('hex'), models }
}

function listing(model: EngineModel): ModelListing {
  const { id, tasks, contextLength, displayName, created, digest } = model
  const named = digest.startsWith('sha256:') ? digest : `sha256:${digest}`
  return { id, tasks, contextLength, displayName, created, digest: named }
}
