/** Our own programs as targets: the proxy in front of a sealed backend, and the whole path. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatManifest } from '@privatemode/attestation'
import {
  createSoftwareRoot,
  formatSoftwareIdentity,
  issueSoftwareLeaf,
  softwareRootFingerprint,
} from '@privatemode/attestation/software/producer'
import { manyRequests, serverVariables } from '@privatemode/service/start-over'
import { type Child, freePort, startChild, untilAnswers } from './child.ts'
import { tapGateway } from './gateway-tap.ts'
import type { Place } from './plain-proxies.ts'
import { jsonType, partOf, type Target, type TargetName } from './target.ts'

export type Shape = 'off' | 'default'

const startWithinMs = 60_000
const adminToken = 'admin-token-of-the-benchmark-0123456789'
const registerToken = 'register-token-of-the-benchmark-0123456789'
const program = (name: string) => [process.execPath, `apps/${name}/src/main.ts`]

/** The address and trust settings of a proxy's backend. */
export type Backend = {
  readonly url: string
  readonly apiKey: string
  readonly manifestPath: string
  readonly rootFingerprint: string
}

export type SealedBackend = Backend & {
  readonly pid: number
  /** Base64: what its usage reports are signed with, if it reports any. */
  readonly receiptKey?: string
}

/** Reports usage to the gateway at `reportTo`, if given. */
export async function startSealedBackend(place: Place, reportTo?: string): Promise<SealedBackend> {
  const suffix = reportTo === undefined ? '' : `-${new URL(reportTo).port}`
  const manifestPath = join(place.folder, `sealed-manifest${suffix}.json`)
  const reporting =
    reportTo === undefined ? [] : ['--reportTo', reportTo, '--registerToken', registerToken]
  const command = [process.execPath, 'bench/sealed-backend.ts', '--manifest', manifestPath]
  // The settings of the worker that it stands for.
  const variables = { ...manyRequests, ...serverVariables }
  const child = startChild('sealed backend', 'around', [...command, ...reporting], variables)
  const { url, rootFingerprint, receiptKey } = JSON.parse(await child.firstLine)
  return { url, apiKey: 'bench', manifestPath, rootFingerprint, receiptKey, pid: child.pid }
}

export async function startProxy(
  place: Place,
  name: TargetName,
  backend: Backend,
  shape: Shape,
  more: readonly string[] = [],
): Promise<Target> {
  const [port, tlsPort] = [freePort(), freePort()]
  const child = startProxyProcess(place, backend, shape, port, more)
  await untilAnswers(`http://127.0.0.1:${port}/ready`, startWithinMs, 200)
  if (name !== 'proxy') return { name, port, headers: jsonType, parts: [partOf(child)] }
  // A proxy serves HTTP or HTTPS: the second one is for the rows with TLS.
  const tls = ['--tlsCertPath', place.certPath, '--tlsKeyPath', place.keyPath]
  const second = startProxyProcess(place, backend, shape, tlsPort, [...more, ...tls])
  await untilAnswers(`https://127.0.0.1:${tlsPort}/ready`, startWithinMs, 200)
  const parts = [partOf(child), { ...partOf(second), name: 'proxy with TLS' }]
  return { name, port, tlsPort, headers: jsonType, parts }
}

export function startProxyProcess(
  place: Place,
  backend: Backend,
  shape: Shape,
  port: number,
  more: readonly string[],
  command: readonly string[] = program('proxy'),
): Child {
  const workspace = join(place.folder, `workspace-${port}`)
  mkdirSync(workspace, { recursive: true })
  return startChild('proxy', 'measured', [
    ...[...command, '--port', String(port), '--workspace', workspace],
    ...['--apiEndpoint', backend.url, '--apiKey', backend.apiKey],
    ...['--manifestPath', backend.manifestPath, '--allowSoftwareAttestation'],
    ...['--softwareRootFingerprint', backend.rootFingerprint],
    ...['--log-level', 'error', '--trafficShape', shape, ...more],
  ])
}

export type Path = {
  readonly backend: Backend
  readonly workerPort: number
  /** Base64: what relays to the worker are signed with. */
  readonly relayKey: string
  readonly parts: Target['parts']
  /** Resolves when all usage is booked. */
  readonly settled: () => Promise<void>
}

/** Gateway and worker in front of the model server; a proxy is added in front of them. */
export async function startPath(place: Place): Promise<Path> {
  const at = new Date()
  const root = await createSoftwareRoot({ name: 'bench', at, days: 2 })
  const leaf = await issueSoftwareLeaf(root, { name: 'worker', at, days: 1 })
  const identityPath = join(place.folder, 'worker-identity.json')
  writeFileSync(identityPath, await formatSoftwareIdentity(leaf))
  const { url, child: gateway } = await startGateway({ dataDir: join(place.folder, 'gateway') })
  const modelUrl = `http://127.0.0.1:${place.modelPort}`
  const engine = ['--engineUrl', modelUrl, '--softwareIdentity', identityPath]
  const describing = startChild('describe', 'around', [...program('worker'), 'describe', ...engine])
  const described = JSON.parse(await describing.firstLine)
  const workerPort = freePort()
  const tap = tapGateway(url)
  const worker = startChild('worker', 'measured', [
    ...[...program('worker'), '--port', String(workerPort), '--gatewayUrl', tap.url],
    ...['--registerToken', registerToken, '--keySharePercent', '100', ...engine],
  ])
  await untilAnswers(`http://127.0.0.1:${workerPort}/health`, startWithinMs, 200)
  while (tap.relayKey() === undefined) await Bun.sleep(20)
  const rootFingerprint = await softwareRootFingerprint(root)
  const manifestPath = join(place.folder, 'path-manifest.json')
  writeFileSync(manifestPath, manifestFor(described, rootFingerprint))
  const apiKey = await issueKey(url)
  return {
    backend: { url, apiKey, manifestPath, rootFingerprint },
    workerPort,
    relayKey: tap.relayKey() ?? '',
    parts: [partOf(gateway), partOf(worker)],
    settled: tap.untilBooked,
  }
}

export async function startWholePath(
  place: Place,
  name: TargetName,
  path: Path,
  shape: Shape,
): Promise<Target> {
  const target = await startProxy(place, name, path.backend, shape)
  return { ...target, parts: [...target.parts, ...path.parts], settled: path.settled }
}

function manifestFor(
  described: { measurement: string; models: Parameters<typeof formatManifest>[0]['models'] },
  rootFingerprint: string,
): Uint8Array {
  const { measurement, models } = described
  const rule = { kind: 'software', measurements: [measurement], root: rootFingerprint }
  return formatManifest({
    issuedAt: '2026-01-01T00:00:00Z',
    serial: 1,
    evidence: 'software',
    roles: { worker: { accept: [{ ...rule, minimum_tcb: 1 }] } },
    models,
  })
}

/** The state of a gateway: a folder, or a PostgreSQL server. */
export type GatewayState = { readonly dataDir: string } | { readonly databaseUrl: string }

export async function startGateway(
  state: GatewayState,
  more: readonly string[] = [],
): Promise<{ readonly url: string; readonly child: Child }> {
  const port = String(freePort())
  const child = startChild('gateway', 'measured', [
    ...[...program('gateway'), '--port', port, '--adminToken', adminToken],
    ...['--registerToken', registerToken],
    // There is only one key, and the worker accepts at most 256 concurrent requests.
    ...('dataDir' in state ? ['--dataDir', state.dataDir] : ['--databaseUrl', state.databaseUrl]),
    ...['--keySharePercent', '100', ...more],
  ])
  const url = `http://127.0.0.1:${port}`
  await untilAnswers(`${url}/health`, startWithinMs, 200)
  return { url, child }
}

export async function issueKey(url: string): Promise<string> {
  const { secret } = await askGateway(url, 'POST', 'admin/keys', { name: 'benchmark' })
  return String(secret)
}

/** Asks as the operator. */
export async function askGateway(
  url: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const headers = {
    authorization: `Bearer ${path.startsWith('registry/') ? registerToken : adminToken}`,
    'content-type': 'application/json',
  }
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
  const response = await fetch(`${url}/privatemode/v1/${path}`, init)
  if (!response.ok) throw new Error(`the gateway refused ${path}: ${response.status}`)
  return (await response.json()) as Record<string, unknown>
}
