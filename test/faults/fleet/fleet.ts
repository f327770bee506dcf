/** The whole system as processes of their own, with a link between every two that can be disturbed. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ManifestDraft } from '@privatemode/attestation'
import {
  type PostgresServer,
  startPostgres,
} from '../../../apps/gateway/src/testing/postgres-server.ts'
import { freePort, startProgram } from '../../deploy/running-program.ts'
import { answerMarker, newMarker } from '../load/question.ts'
import type { Chance } from '../random.ts'
import { type Clocks, findClocks } from './clocks.ts'
import { Ears } from './ears.ts'
import { type Address, Link } from './link.ts'
import { createTrust, type Trust } from './manifests.ts'
import { Part } from './part.ts'
import type { Wire } from './wire.ts'

export type FleetOptions = {
  readonly chance: Chance
  readonly workers: number
  readonly gateways: number
  /** A network of real packets between the parts; without it they meet on loopback. */
  readonly wire?: Wire | undefined
  readonly withClocks?: boolean
  readonly gatewayArgs?: readonly string[]
  readonly proxyArgs?: readonly string[]
  /** Every client of the proxy sends a key of its own. */
  readonly clientKeys?: boolean
  /** Folder for everything that is written; a fresh one where it is not given. */
  readonly folder?: string
}

export const operatorToken = 'operator-token-of-the-fleet-0123456789abcdef'
const root = join(import.meta.dir, '../../..')
const app = (name: string) => [process.execPath, join(root, `apps/${name}/src/main.ts`)]

export class Fleet {
  readonly folder: string
  readonly marker: string
  readonly ears: Ears
  readonly postgres: PostgresServer
  readonly trust: Trust
  readonly clocks: Clocks | undefined
  readonly wire: Wire | undefined
  readonly model: Part
  readonly gateways: readonly Part[]
  readonly workers: readonly Part[]
  readonly proxy: Part
  /** From the proxy and the workers to the gateways. */
  readonly front: Link
  /** From the gateways to each worker. */
  readonly backs: readonly Link[]
  readonly database: Link
  readonly engine: Link
  readonly proxyPort: number
  readonly measurement: string
  readonly models: ManifestDraft['models']
  readonly apiKey: string
  /** Addresses of the gateways that no link lies before. */
  readonly gatewayUrls: readonly string[]
  #turn = 0

  constructor(parts: FleetParts) {
    this.folder = parts.folder
    this.marker = parts.marker
    this.ears = parts.ears
    this.postgres = parts.postgres
    this.trust = parts.trust
    this.clocks = parts.clocks
    this.wire = parts.wire
    this.model = parts.model
    this.gateways = parts.gateways
    this.workers = parts.workers
    this.proxy = parts.proxy
    this.front = parts.front
    this.backs = parts.backs
    this.database = parts.database
    this.engine = parts.engine
    this.proxyPort = parts.proxyPort
    this.measurement = parts.measurement
    this.models = parts.models
    this.apiKey = parts.apiKey
    this.gatewayUrls = parts.gatewayUrls
  }

  get parts(): readonly Part[] {
    return [this.model, ...this.gateways, ...this.workers, this.proxy]
  }

  get links(): readonly Link[] {
    return [this.front, ...this.backs, this.database, this.engine]
  }

  /** Calls the admin API as an operator, beside the links: it has no cryptography of its own. */
  admin(method: string, path: string, body?: object): Promise<Response> {
    return callAdmin(this.gatewayUrl, method, path, body)
  }

  /** A gateway that runs, in turn. */
  get gatewayUrl(): string {
    const urls = this.gatewayUrls.filter((_, index) => this.gateways[index]?.isRunning)
    return (urls.length > 0 ? urls : this.gatewayUrls)[this.#turn++ % Math.max(1, urls.length)]!
  }

  async stop(): Promise<void> {
    await Promise.all(this.parts.map((part) => part.end()))
    for (const link of this.links) link.close()
    await this.postgres.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

type FleetParts = Omit<Fleet, 'parts' | 'links' | 'admin' | 'gatewayUrl' | 'stop'>

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const { chance, wire } = options
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'privatemode-fleet-'))
  mkdirSync(join(folder, 'logs'), { recursive: true })
  const marker = newMarker(chance)
  const ears = new Ears([marker, answerMarker(marker)])
  const clocks = options.withClocks === true ? findClocks(join(folder, 'clocks')) : undefined
  const host = wire?.nearHost ?? '127.0.0.1'
  const reached = wire?.farHost ?? '127.0.0.1'
  const trust = await createTrust(folder)
  const postgres = await startPostgres()
  const started: { end(): unknown }[] = [{ end: () => postgres.stop() }]
  const link = async (name: string, targets: readonly Address[], heard = true) => {
    const made = new Link({
      name,
      targets,
      port: freePort(),
      chance,
      ears: heard ? ears : undefined,
    })
    await made.open()
    started.push({ end: () => made.close() })
    return made
  }
  const part = (name: string, command: readonly string[], isReady: () => Promise<boolean>) => {
    const logPath = join(folder, 'logs', `${name}.log`)
    const made = new Part({ name, command, logPath, isReady, env: clocks?.envOf(name) ?? {} })
    started.push(made)
    return made
  }
  const answers = (url: string) => async () => (await fetch(url, soon())).ok
  try {
    const modelPort = freePort()
    const engine = await link('engine', [{ host: '127.0.0.1', port: modelPort }], false)
    const modelMain = join(import.meta.dir, '../load/model-main.ts')
    const model = part(
      'model',
      [process.execPath, modelMain, `${modelPort}`],
      answers(`http://127.0.0.1:${modelPort}/health`),
    )
    await model.start()
    const database = await link('database', [
      { host: '127.0.0.1', port: Number(new URL(postgres.url).port) },
    ])
    const gatewayPorts = Array.from({ length: options.gateways }, freePort)
    const databaseUrl = postgres.url.replace(/:\d+\//, `:${database.port}/`)
    const gateways = gatewayPorts.map((port, index) =>
      part(
        `gateway-${index + 1}`,
        [
          ...[...app('gateway'), '--host', host, '--port', `${port}`, '--databaseUrl', databaseUrl],
          ...['--operatorToken', operatorToken, '--logDir', trust.logDir, '--logFormat', 'json'],
          ...(options.gatewayArgs ?? []),
        ],
        answers(`http://${host}:${port}/health`),
      ),
    )
    for (const gateway of gateways) await gateway.start()
    const front = await link(
      'front',
      gatewayPorts.map((port) => ({ host: reached, port })),
    )
    const engineArgs = ['--engineUrl', engine.url, '--softwareIdentity', trust.identityPath]
    const { measurement, models } = await describeWorker(engineArgs)
    await trust.publish([measurement], models)
    const backs: Link[] = []
    const workers: Part[] = []
    for (let index = 0; index < options.workers; index++) {
      const port = freePort()
      const back = await link(`back-${index + 1}`, [{ host: reached, port }])
      const worker = part(
        `worker-${index + 1}`,
        [
          ...[...app('worker'), '--host', host, '--port', `${port}`, '--publicUrl', back.url],
          ...['--gatewayUrl', front.url, '--operatorToken', operatorToken, ...engineArgs],
          ...['--logFormat', 'json'],
        ],
        answers(`http://${host}:${port}/health`),
      )
      await worker.start()
      backs.push(back)
      workers.push(worker)
    }
    const made = await callAdmin(front.url, 'POST', '/keys', { name: 'proxy' })
    const apiKey = ((await made.json()) as { secret: string }).secret
    const proxyPort = freePort()
    const proxy = part(
      'proxy',
      [
        ...[...app('proxy'), '--port', `${proxyPort}`, '--workspace', join(folder, 'workspace')],
        ...['--apiEndpoint', front.url, '--manifestLogKey', trust.logKey],
        ...(options.clientKeys === true ? [] : ['--apiKey', apiKey]),
        ...['--allowSoftwareAttestation', '--softwareRootFingerprint', trust.rootFingerprint],
        ...['--log-format', 'json', ...(options.proxyArgs ?? [])],
      ],
      answers(`http://127.0.0.1:${proxyPort}/ready`),
    )
    mkdirSync(join(folder, 'workspace'), { recursive: true })
    await proxy.start()
    const all = { folder, marker, ears, postgres, trust, clocks, wire, model, gateways, workers }
    const gatewayUrls = gatewayPorts.map((port) => `http://${host}:${port}`)
    const links = { front, backs, database, engine, gatewayUrls }
    return new Fleet({ ...all, ...links, proxy, proxyPort, measurement, models, apiKey })
  } catch (error) {
    for (const one of started.toReversed()) await one.end()
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

async function describeWorker(engineArgs: readonly string[]) {
  const program = startProgram([...app('worker'), 'describe', ...engineArgs])
  const [text] = await program.until(/^\{.*\}$/m)
  return JSON.parse(text) as { measurement: string; models: ManifestDraft['models'] }
}

export function callAdmin(
  url: string,
  method: string,
  path: string,
  body?: object,
): Promise<Response> {
  return fetch(`${url}/privatemode/v1/admin${path}`, {
    method,
    headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...soon(),
    keepalive: false,
  })
}

export const soon = (ms = 5_000): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(ms) })
