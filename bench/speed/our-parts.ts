/** Gateway and worker alone: the load generator seals, as a proxy would. */
import { join } from 'node:path'
import { findPostgres, startPostgres } from '../../apps/gateway/src/testing/postgres-server.ts'
import { models } from '../load/load-spec.ts'
import type { ReportState } from '../signed-reports.ts'
import { pinned, stopLater } from './child.ts'
import {
  askGateway,
  issueKey,
  type Path,
  type SealedBackend,
  startGateway,
  startSealedBackend,
} from './ours.ts'
import type { Place } from './plain-proxies.ts'
import { partOf, type Skipped, type Target, type TargetName } from './target.ts'

const sealedType = { 'content-type': 'application/privatemode-sealed' }
const bookedWithinMs = 20_000
const portOf = (url: string) => Number(new URL(url).port)

/** Nothing in between: what the rig around the proxy costs by itself. */
export function sealedDirect(backend: SealedBackend): Target {
  return {
    name: 'direct, sealed',
    port: portOf(backend.url),
    headers: sealedType,
    sealed: { ...backend, shape: 'default' },
    parts: [{ name: 'sealed backend', pid: backend.pid }],
  }
}

/** Longer than any run: the backend does not renew its lease. */
const hour = ['--leaseSeconds', '3600']

/** A gateway with the sealed backend for a worker, which never reports usage. */
export async function startGatewayAlone(place: Place, backend: SealedBackend): Promise<Target> {
  const state = { dataDir: join(place.folder, 'gateway-alone') }
  const { url, child } = await startGateway(state, [...hour, '--usageGraceMs', '3600000'])
  return inFrontOf(backend, 'gateway', url, [partOf(child)])
}

/** The same with a backend of its own that reports all usage, booked in the embedded database. */
export async function startMeteredGateway(place: Place): Promise<Target> {
  const state = { dataDir: join(place.folder, 'gateway-metered') }
  const { url, child } = await startGateway(state, hour)
  const backend = await startSealedBackend(place, url)
  const target = await inFrontOf(backend, 'gateway, metered', url, [partOf(child)])
  return { ...target, settled: () => untilBooked(backend) }
}

/** The same in PostgreSQL, which runs on the other core and whose CPU time counts apart. */
export async function startPostgresGateway(place: Place): Promise<Target | Skipped> {
  const name = 'gateway, PostgreSQL'
  if (findPostgres() === undefined) return { name, why: 'not installed (apt install postgresql)' }
  const server = await startPostgres({ wrap: (command) => pinned('around', command) })
  stopLater(server)
  const { url, child } = await startGateway({ databaseUrl: server.url }, hour)
  const backend = await startSealedBackend(place, url)
  const postgres = { name: 'PostgreSQL', pid: server.pid, apart: true }
  const target = await inFrontOf(backend, name, url, [partOf(child), postgres])
  return { ...target, settled: () => untilBooked(backend) }
}

async function inFrontOf(
  backend: SealedBackend,
  name: TargetName,
  url: string,
  parts: Target['parts'],
): Promise<Target> {
  const directory = await fetch(`${backend.url}/privatemode/v1/directory`)
  const { workers } = (await directory.json()) as { workers: { id: string; seal_key_id: string }[] }
  const [worker] = workers
  if (worker === undefined) throw new Error('the sealed backend lists no worker')
  await askGateway(url, 'PUT', `registry/workers/${worker.id}`, {
    url: backend.url,
    models: Object.values(models).map((id) => ({
      ...{ id, created: 1, display_name: id, tasks: ['generate', 'embed'] },
    })),
    seal_key_id: worker.seal_key_id,
    receipt_key: backend.receiptKey ?? Buffer.alloc(32).toString('base64'),
    relay_key: Buffer.alloc(32).toString('base64'),
    capacity: 4096,
    active: 0,
    draining: false,
  })
  const { manifestPath, rootFingerprint } = backend
  const sealed = { url, apiKey: await issueKey(url), manifestPath, rootFingerprint }
  return {
    name,
    port: portOf(url),
    headers: sealedType,
    sealed: { ...sealed, shape: 'default' },
    parts,
  }
}

/** Waits until the gateway has booked all that was reported, so that none of it goes uncounted. */
async function untilBooked({ url }: SealedBackend): Promise<void> {
  const endMs = performance.now() + bookedWithinMs
  while (performance.now() < endMs) {
    const state = (await (await fetch(`${url}/reports`)).json()) as ReportState
    if (state.rejected > 0) throw new Error(`the gateway rejected ${state.rejected} usage records`)
    if (state.waiting === 0) return
    await Bun.sleep(20)
  }
  throw new Error(`usage was not booked within ${bookedWithinMs / 1000} s`)
}

/** The worker of the whole path, asked without its gateway, which only shows where it is. */
export function workerAlone({ backend, workerPort, relayKey, parts, settled }: Path): Target {
  return {
    name: 'worker',
    port: workerPort,
    headers: sealedType,
    sealed: { ...backend, shape: 'default', relayKey },
    parts: parts.filter(({ name }) => name === 'worker'),
    settled,
  }
}
