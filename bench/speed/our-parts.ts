/** Gateway and worker alone: the load generator seals, as a proxy would. */
import { join } from 'node:path'
import { models } from '../load/load-spec.ts'
import { askGateway, issueKey, type Path, type SealedBackend, startGateway } from './ours.ts'
import type { Place } from './plain-proxies.ts'
import { partOf, type Target } from './target.ts'

const sealedType = { 'content-type': 'application/privatemode-sealed' }
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

/** A gateway with the sealed backend for a worker, which never reports usage. */
export async function startGatewayAlone(place: Place, backend: SealedBackend): Promise<Target> {
  const hour = ['--leaseSeconds', '3600', '--usageGraceMs', '3600000']
  const { url, child } = await startGateway(join(place.folder, 'gateway-alone'), hour)
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
    receipt_key: Buffer.alloc(32).toString('base64'),
    relay_key: Buffer.alloc(32).toString('base64'),
    capacity: 4096,
    active: 0,
    draining: false,
  })
  const { manifestPath, rootFingerprint } = backend
  const sealed = { url, apiKey: await issueKey(url), manifestPath, rootFingerprint }
  return {
    name: 'gateway',
    port: portOf(url),
    headers: sealedType,
    sealed: { ...sealed, shape: 'default' },
    parts: [partOf(child)],
  }
}

/** The worker of the whole path, asked without its gateway, which only shows where it is. */
export function workerAlone({ backend, workerPort, relayKey, parts }: Path): Target {
  return {
    name: 'worker',
    port: workerPort,
    headers: sealedType,
    sealed: { ...backend, shape: 'default', relayKey },
    parts: parts.filter(({ name }) => name === 'worker'),
  }
}
