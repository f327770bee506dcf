/** A backend is replaced under traffic, across changes of the manifest, and no request is lost. */
import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  createNoteSigner,
  formatManifest,
  parseNoteSigner,
  publishEntry,
} from '@privatemode/attestation'
import {
  createSoftwareRoot,
  formatSoftwareIdentity,
  issueSoftwareLeaf,
  softwareRootFingerprint,
} from '@privatemode/attestation/software/producer'
import { parseSettings, startGateway } from '@privatemode/gateway'
import { startScriptedServer } from '../../apps/worker/src/testing/scripted-server.ts'
import { type ProxyProcess, spawnProxy } from '../proxy/proxy-process.ts'
import { freePort } from './running-program.ts'
import { startTraffic } from './traffic.ts'
import { makeBuild, type WorkerBuild } from './worker-builds.ts'

const token = 'operator-token-for-tests-0123456789abcdef'
const folder = mkdtempSync(join(tmpdir(), 'privatemode-upgrade-'))
const logDir = join(folder, 'log')
const ends: (() => unknown)[] = []
afterAll(async () => {
  for (const end of ends.toReversed()) await end()
  rmSync(folder, { recursive: true, force: true })
})

test('old and new proxies lose nothing while the backend and its manifest change', async () => {
  const server = startScriptedServer({ models: ['org/chat-1'] })
  ends.push(() => server.stop())
  const [old, young] = await Promise.all([makeBuild('a', server.url), makeBuild('b', server.url)])
  ends.push(old.remove, young.remove)
  expect(old.measurement).not.toBe(young.measurement)

  const at = new Date()
  const root = await createSoftwareRoot({ name: 'upgrade', at, days: 2 })
  const fingerprint = await softwareRootFingerprint(root)
  const leaf = await issueSoftwareLeaf(root, { name: 'worker', at, days: 1 })
  writeFileSync(join(folder, 'leaf.json'), await formatSoftwareIdentity(leaf))
  const signer = await createNoteSigner('upgrade.internal/log')
  const publish = makePublisher(signer.text, fingerprint)
  await publish([old])

  const gateway = await startTestGateway()
  ends.push(() => gateway.stop())
  const key = await createKey(gateway.url)
  const startBuild = async (build: WorkerBuild) => {
    const worker = await build.start([
      ...['--port', `${freePort()}`, '--gatewayUrl', gateway.url, '--operatorToken', token],
      ...['--softwareIdentity', join(folder, 'leaf.json')],
    ])
    ends.push(() => worker.stop())
    return worker
  }
  const startProxy = async () => {
    const proxy = await spawnProxy([
      ...['--apiEndpoint', gateway.url, '--apiKey', key, '--manifestLogKey', signer.verifierKey],
      ...['--allowSoftwareAttestation', '--softwareRootFingerprint', fingerprint],
      ...['--trafficShape', 'off'],
    ])
    ends.push(() => proxy.stop())
    return proxy
  }

  const oldWorker = await startBuild(old)
  const oldProxy = await startProxy()
  const traffic = startTraffic()
  traffic.through(oldProxy.url)
  await traffic.served(20)

  // The new manifest comes first and accepts both builds; a new proxy meets the old backend.
  await publish([old, young])
  const newProxy = await startProxy()
  traffic.through(newProxy.url)
  await traffic.served(20)

  // The old proxy, which knows the first manifest, meets the new backend alone.
  await startBuild(young)
  await oldWorker.stop()
  await traffic.served(40)

  // At last the old build is no longer accepted.
  await publish([young])
  await traffic.served(40)
  const { lost, count } = await traffic.stop()
  expect(lost).toEqual([])
  expect(count).toBeGreaterThan(100)
  expect(enforced(oldProxy).length).toBeGreaterThanOrEqual(2)
  expect(enforced(newProxy).length).toBeGreaterThanOrEqual(1)
}, 120_000)

/** Appends a manifest that accepts these builds. */
function makePublisher(signerText: string, root: string) {
  let serial = 0
  const path = (name: string) => join(logDir, name)
  const store = {
    read: async (name: string) => {
      const file = Bun.file(path(name))
      return (await file.exists()) ? await file.bytes() : undefined
    },
    write: async (name: string, content: Uint8Array) => {
      mkdirSync(dirname(path(name)), { recursive: true })
      writeFileSync(path(name), content)
    },
  }
  return async (builds: readonly WorkerBuild[]) => {
    serial++
    const measurements = builds.map((build) => build.measurement)
    const rule = { kind: 'software', measurements, root, minimum_tcb: 1 }
    const bytes = formatManifest({
      issuedAt: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
      serial,
      evidence: 'software',
      roles: { worker: { accept: [rule] } },
      models: builds[0]?.models as Parameters<typeof formatManifest>[0]['models'],
    })
    await publishEntry(store, await parseNoteSigner(signerText), bytes)
  }
}

async function startTestGateway() {
  const args = ['--port', '0', '--dataDir', join(folder, 'database'), '--logDir', logDir]
  const parsed = parseSettings({ args: [...args, '--operatorToken', token], env: {} })
  if (parsed.kind !== 'settings') throw new Error('no settings')
  return startGateway(parsed.settings)
}

async function createKey(gatewayUrl: string): Promise<string> {
  const response = await fetch(`${gatewayUrl}/privatemode/v1/admin/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"name":"upgrade"}',
  })
  return ((await response.json()) as { secret: string }).secret
}

function enforced(proxy: ProxyProcess): string[] {
  const text = readFileSync(join(proxy.workspace, 'manifests/log.txt'), 'utf8')
  return text.trim().split('\n')
}
