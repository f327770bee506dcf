/** Starts a fleet: every part in its own process, with a link in front of each. */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ManifestDraft } from '@privatemode/attestation'
import { freePort } from '@privatemode/service/testing'
import { startPostgres } from '../../../apps/gateway/src/testing/postgres-server.ts'
import { startProgram } from '../../deploy/running-program.ts'
import { answerMarker, newMarker } from '../load/question.ts'
import type { Chance } from '../random.ts'
import { findClocks } from './clocks.ts'
import { mountDisk } from './disks.ts'
import { Ears } from './ears.ts'
import { adminToken, callAdmin, type Disks, Fleet, registerToken, soon, unmount } from './fleet.ts'
import { type Address, Link } from './link.ts'
import { createTrust } from './manifests.ts'
import { Part } from './part.ts'
import type { Wire } from './wire.ts'

export type FleetOptions = {
  readonly chance: Chance
  readonly workers: number
  readonly gateways: number
  /** A network of real packets between the parts; without it they use loopback. */
  readonly wire?: Wire | undefined
  readonly withClocks?: boolean
  /** Small disks for written files, if mounting is allowed. */
  readonly withDisks?: boolean
  readonly gatewayArgs?: readonly string[]
  readonly proxyArgs?: readonly string[]
  /** Every client of the proxy sends its own key. */
  readonly clientKeys?: boolean
  /** Folder for all written files; a temporary one by default. */
  readonly folder?: string
}

const root = join(import.meta.dir, '../../..')
const app = (name: string) => [process.execPath, join(root, `apps/${name}/src/main.ts`)]

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
  const disks = options.withDisks === true ? mountDisks(folder) : undefined
  const postgres = await startPostgres(disks && { parent: disks.database.path })
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
          ...['--adminToken', adminToken, '--registerToken', registerToken],
          ...['--logDir', trust.logDir, '--logFormat', 'json'],
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
          ...['--gatewayUrl', front.url, '--registerToken', registerToken, ...engineArgs],
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
    const all = {
      folder,
      marker,
      ears,
      postgres,
      trust,
      clocks,
      disks,
      wire,
      model,
      gateways,
      workers,
    }
    const gatewayUrls = gatewayPorts.map((port) => `http://${host}:${port}`)
    const links = { front, backs, database, engine, gatewayUrls }
    return new Fleet({ ...all, ...links, proxy, proxyPort, measurement, models, apiKey })
  } catch (error) {
    for (const one of started.toReversed()) await one.end()
    unmount(disks)
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

function mountDisks(folder: string): Disks | undefined {
  const logs = mountDisk(join(folder, 'logs'), 64)
  const workspace = mountDisk(join(folder, 'workspace'), 2)
  const database = mountDisk(`${folder}-database`, 1024)
  if (logs !== undefined && workspace !== undefined && database !== undefined) {
    return { logs, workspace, database }
  }
  for (const disk of [logs, workspace, database]) disk?.unmount()
  return undefined
}

async function describeWorker(engineArgs: readonly string[]) {
  const program = startProgram([...app('worker'), 'describe', ...engineArgs])
  const [text] = await program.until(/^\{.*\}$/m)
  return JSON.parse(text) as { measurement: string; models: ManifestDraft['models'] }
}
