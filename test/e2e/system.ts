/** A whole system in one process for tests: gateway, workers with a scripted engine, a client. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createStaticSource, formatManifest, vendorRoots } from '@privatemode/attestation'
import { softwareVerifier } from '@privatemode/attestation/software'
import {
  createSoftwareRoot,
  formatSoftwareIdentity,
  issueSoftwareLeaf,
  softwareRootFingerprint,
} from '@privatemode/attestation/software/producer'
import { parseSettings as parseGatewaySettings, startGateway } from '@privatemode/gateway'
import { relayHeaders } from '@privatemode/protocol/fleet'
import {
  type ClientOptions,
  defaultMaxAnswerBytes,
  defaultRevocation,
  PrivateClient,
} from '@privatemode/sdk'
import { createLog, createOutbound } from '@privatemode/service'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { freePort } from '@privatemode/service/testing'
import { parseSettings as parseWorkerSettings, startWorker, type Worker } from '@privatemode/worker'
import { measureSources } from '@privatemode/worker/measurement'
import { signRelay } from '../../apps/gateway/src/relay/sign-relay.ts'
import { freshDataDir } from '../../apps/gateway/src/testing/test-data-dir.ts'
import { RelayKeys } from '../../apps/worker/src/relay/relay-keys.ts'
import type { shapeOf } from '../../apps/worker/src/sealed/traffic-shape.ts'
import type { Engine } from '../../packages/inference/src/engine.ts'
import { ScriptedEngine } from '../../packages/inference/src/testing/scripted-engine.ts'

export const adminToken = 'admin-token-for-tests-0123456789abcdef'
const registerToken = 'register-token-for-tests-0123456789abcdef'

export type System = {
  readonly gatewayUrl: string
  readonly apiKey: string
  readonly workers: readonly Worker[]
  readonly rootFingerprint: string
  readonly manifest: Uint8Array
  readonly measurement: string
  /** Everything that gateway and workers logged. */
  readonly logs: { readonly gateway: string[]; readonly worker: string[] }
  readonly folder: string
  client(over?: Partial<ClientOptions>): PrivateClient
  createKey(name: string, limits?: object): Promise<string>
  /** Every request that is billed. */
  usage(): Promise<BilledRequest[]>
  addWorker(engine?: Engine): Promise<Worker>
  /** Headers of a sealed request, completed to those of a relay: what a compromised gateway can do. */
  relay(worker: Worker, headers: Record<string, string>, bytes: number): Record<string, string>
  stop(): Promise<void>
}

export type BilledRequest = {
  readonly request_id: string
  readonly outcome: string
  readonly prompt_tokens: number
  readonly completion_tokens: number
}

export type SystemOptions = {
  readonly engines?: readonly Engine[]
  /** Replaces what the manifest lists as the worker's measurement. */
  readonly measurement?: string
  /** Sits between gateway and workers: given a worker's address, returns the one to register. */
  readonly tapWorker?: (url: string) => string
  /** What shapes mean to the workers: the real ones take longer than a test may. */
  readonly shapeOf?: typeof shapeOf
}

export async function startSystem(options: SystemOptions = {}): Promise<System> {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-test-'))
  const logs = { gateway: [] as string[], worker: [] as string[] }
  const log = (lines: string[]) =>
    createLog({ format: 'json', level: -4, write: (text) => void lines.push(text) })
  const at = new Date()
  const root = await createSoftwareRoot({ name: 'test root', at, days: 30 })
  const rootFingerprint = await softwareRootFingerprint(root)
  const leaf = await issueSoftwareLeaf(root, { name: 'test worker', at, days: 1 })
  const identityPath = join(folder, 'leaf.json')
  writeFileSync(identityPath, await formatSoftwareIdentity(leaf), { mode: 0o600 })

  // A copy: creating one takes two seconds of CPU time.
  const dataDir = await freshDataDir(join(folder, 'gateway'))
  const gateway = await startGateway(gatewaySettings(dataDir), { log: log(logs.gateway) })
  const engines = options.engines ?? [new ScriptedEngine()]
  const measurement = options.measurement ?? Buffer.from(measureSources()).toString('hex')
  const manifest = manifestFor(engines[0] ?? new ScriptedEngine(), rootFingerprint, measurement)
  const workers: Worker[] = []
  const relayKeys = new RelayKeys()

  const addWorker = async (engine: Engine = new ScriptedEngine()): Promise<Worker> => {
    const settings = workerSettings(folder, gateway.url, identityPath, options.tapWorker)
    const createEngine = async () => engine
    const worker = await startWorker(settings, {
      ...{ env: {}, createEngine, log: log(logs.worker), relayKeys },
      ...(options.shapeOf === undefined ? {} : { shapeOf: options.shapeOf }),
    })
    workers.push(worker)
    return worker
  }
  for (const engine of engines) await addWorker(engine)
  const createKey = (name: string, limits?: object) => newKey(gateway.url, name, limits)
  const outbound = createOutbound({ env: {} })
  return {
    gatewayUrl: gateway.url,
    apiKey: await createKey('test'),
    workers,
    rootFingerprint,
    manifest,
    measurement,
    logs,
    folder,
    createKey,
    usage: () => billedRequests(gateway.url),
    addWorker,
    relay: (worker, headers, bytes) => relayAs(relayKeys, worker, headers, bytes),
    client: (over = {}) =>
      new PrivateClient({
        endpoint: gateway.url,
        manifestSource: createStaticSource(manifest, async () => {}),
        roots: { ...vendorRoots, software: [rootFingerprint] },
        revocation: defaultRevocation,
        software: softwareVerifier,
        crypto: nativeCrypto,
        fetch: outbound.fetch,
        shape: 'off',
        now: () => new Date(),
        onEvent: () => {},
        candidates: 2,
        maxAnswerBytes: defaultMaxAnswerBytes,
        retryBudgetMs: 60_000,
        ...over,
      }),
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()))
      await gateway.stop()
      outbound.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function gatewaySettings(dataDir: string) {
  const args = ['--port', '0', '--dataDir', dataDir, '--drainMs', '500']
  args.push('--logLevel', 'debug') // logs are searched for what they must not contain
  // All share one thread: if a test blocks it for seconds, no lease is renewed in the meantime.
  args.push('--leaseSeconds', '600')
  const env = {
    PRIVATEMODE_GATEWAY_ADMIN_TOKEN: adminToken,
    PRIVATEMODE_GATEWAY_REGISTER_TOKEN: registerToken,
  }
  const parsed = parseGatewaySettings({ args, env })
  if (parsed.kind !== 'settings') throw new Error('no settings')
  return parsed.settings
}

function workerSettings(
  folder: string,
  gatewayUrl: string,
  identityPath: string,
  tap: SystemOptions['tapWorker'],
) {
  const modelsFile = join(folder, 'models.json')
  writeFileSync(modelsFile, '[{"id":"scripted","path":"none","task":"generate"}]')
  const port = tap === undefined ? 0 : freePort()
  const args = ['--port', String(port), '--gatewayUrl', gatewayUrl, '--modelsFile', modelsFile]
  if (tap !== undefined) args.push('--publicUrl', tap(`http://127.0.0.1:${port}`))
  args.push('--softwareIdentity', identityPath, '--drainMs', '500')
  const env = { PRIVATEMODE_WORKER_REGISTER_TOKEN: registerToken }
  const parsed = parseWorkerSettings({ args, env })
  if (parsed.kind !== 'settings') throw new Error('no settings')
  return parsed.settings
}

function manifestFor(engine: Engine, root: string, measurement: string): Uint8Array {
  const rule = { kind: 'software', measurements: [measurement], root, minimum_tcb: 1 }
  return formatManifest({
    issuedAt: '2026-01-01T00:00:00Z',
    serial: 1,
    evidence: 'software',
    roles: { worker: { accept: [rule] } },
    models: engine.models().map(({ id, tasks, contextLength, displayName, created, digest }) => ({
      id,
      tasks,
      contextLength,
      displayName,
      created,
      digest: `sha256:${digest}`,
    })),
  })
}

function relayAs(
  keys: RelayKeys,
  { workerId }: Worker,
  headers: Record<string, string>,
  lengthBytes: number,
): Record<string, string> {
  const relayed = { [relayHeaders.keyRef]: 'key_1', [relayHeaders.admission]: 'ab'.repeat(32) }
  const all: Record<string, string> = { ...relayed, ...headers }
  const read = (name: keyof typeof relayHeaders) => all[relayHeaders[name]] ?? ''
  const sentAtMs = Date.now()
  const mac = signRelay(keys.current(), {
    ...{ workerId, sentAtMs, lengthBytes, requestId: read('requestId'), model: read('model') },
    ...{ path: read('path'), keyRef: read('keyRef'), admission: read('admission') },
  })
  return { ...all, [relayHeaders.sentAt]: String(sentAtMs), [relayHeaders.mac]: mac }
}

async function billedRequests(gatewayUrl: string): Promise<BilledRequest[]> {
  const range = 'from=2020-01-01&to=2100-01-01&limit=1000'
  const url = `${gatewayUrl}/privatemode/v1/admin/usage/requests?${range}`
  const response = await fetch(url, { headers: { authorization: `Bearer ${adminToken}` } })
  return ((await response.json()) as { requests: BilledRequest[] }).requests
}

async function newKey(gatewayUrl: string, name: string, limits: object = {}): Promise<string> {
  const response = await fetch(`${gatewayUrl}/privatemode/v1/admin/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name, limits }),
  })
  return ((await response.json()) as { secret: string }).secret
}
