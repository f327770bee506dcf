/** Starts the model server and everything in front of it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTestAuthority } from '../../packages/service/src/testing/certificates.ts'
import { startChild } from './child.ts'
import { installGateways, startLitellm, startLlms, startPortkey } from './gateways.ts'
import {
  sealedDirect,
  startGatewayAlone,
  startMeteredGateway,
  startPostgresGateway,
  workerAlone,
} from './our-parts.ts'
import {
  type SealedBackend,
  startPath,
  startProxy,
  startSealedBackend,
  startWholePath,
} from './ours.ts'
import { type Place, startHaproxy, startNginx } from './plain-proxies.ts'
import { jsonType, type Skipped, type Target, type TargetName, targetNames } from './target.ts'

export type Rig = {
  readonly targets: Target[]
  readonly skipped: Skipped[]
  readonly place: Place
  readonly backend: SealedBackend
}

/** Starts only the requested targets; one that does not start is skipped, with the reason. */
export async function bringUp(folder: string, wanted: ReadonlySet<TargetName>): Promise<Rig> {
  if (['portkey', 'llms', 'litellm'].some((name) => wanted.has(name as TargetName))) {
    await installGateways(wanted.has('litellm'))
  }
  const model = startChild('model server', 'around', [process.execPath, 'bench/model-server.ts'])
  const { port: modelPort } = JSON.parse(await model.firstLine) as { port: number }
  const place = { folder, modelPort, ...writeCertificate(folder) }
  const backend = await startSealedBackend(place)
  const onPath = ['worker', 'whole path', 'whole path, shape off'] as const
  const needsPath = onPath.some((name) => wanted.has(name))
  const path = needsPath ? await startPath(place) : undefined
  const starts: Record<TargetName, (() => Promise<Target | Skipped>) | undefined> = {
    direct: async () => {
      const parts = [{ name: 'model server', pid: model.pid }]
      return { name: 'direct', port: modelPort, headers: jsonType, parts }
    },
    'direct, sealed': async () => sealedDirect(backend),
    gateway: () => startGatewayAlone(place, backend),
    'gateway, metered': () => startMeteredGateway(place),
    'gateway, PostgreSQL': () => startPostgresGateway(place),
    worker: path && (async () => workerAlone(path)),
    litellm: () => startLitellm(place),
    nginx: () => startNginx(place),
    haproxy: () => startHaproxy(place),
    portkey: () => startPortkey(place),
    llms: () => startLlms(place),
    proxy: () => startProxy(place, 'proxy', backend, 'default'),
    'proxy, shape off': () => startProxy(place, 'proxy, shape off', backend, 'off'),
    'whole path': path && (() => startWholePath(place, 'whole path', path, 'default')),
    'whole path, shape off':
      path && (() => startWholePath(place, 'whole path, shape off', path, 'off')),
  }
  const names = targetNames.filter((name) => wanted.has(name))
  const started = await Promise.all(names.map((name) => startOrSkip(name, starts[name])))
  const targets = started.filter((one) => 'port' in one)
  const skipped = started.filter((one) => 'why' in one)
  for (const { name, why } of skipped) console.log(`skipped: ${name}: ${why}`)
  return { targets, skipped, place, backend }
}

async function startOrSkip(
  name: TargetName,
  start: (() => Promise<Target | Skipped>) | undefined,
): Promise<Target | Skipped> {
  try {
    return start === undefined ? { name, why: 'not wanted' } : await start()
  } catch (error) {
    return { name, why: `did not start: ${error instanceof Error ? error.message : error}` }
  }
}

function writeCertificate(folder: string): Pick<Place, 'certPath' | 'keyPath' | 'bundlePath'> {
  const { certPem, keyPem } = createTestAuthority('bench').issue(['127.0.0.1', 'localhost'])
  const [certPath, keyPath] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const bundlePath = join(folder, 'bundle.pem')
  writeFileSync(certPath, certPem)
  writeFileSync(keyPath, keyPem)
  writeFileSync(bundlePath, `${certPem}\n${keyPem}`)
  return { certPath, keyPath, bundlePath }
}
