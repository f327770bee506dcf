/** A whole system is replaced under traffic, across changes of the manifest, and no request is lost. */
import { afterAll, expect } from 'bun:test'
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
import { freePort, unlessMissing } from '@privatemode/service/testing'
import { missingPostgres, startPostgres } from '../../apps/gateway/src/testing/postgres-server.ts'
import { startScriptedServer } from '../../packages/inference/src/testing/scripted-server.ts'
import { type ProxyProcess, spawnProxy } from '../proxy/proxy-process.ts'
import { obtainOlderTree } from './older-build.ts'
import { currentBuild, olderBuild, type ProgramBuild } from './program-builds.ts'
import { startProgram } from './running-program.ts'
import { openServiceDoor } from './service-door.ts'
import { startTraffic } from './traffic.ts'

const adminToken = 'admin-token-for-tests-0123456789abcdef'
/** The single token of an older build, with which workers keep registering. */
const token = 'register-token-for-tests-0123456789abcdef'
const oneToken = ['--operatorToken', token]
const folder = mkdtempSync(join(tmpdir(), 'privatemode-upgrade-'))
const logDir = join(folder, 'log')
const ends: (() => unknown)[] = []
afterAll(async () => {
  for (const end of ends.toReversed()) await end()
  rmSync(folder, { recursive: true, force: true })
})

const older = obtainOlderTree()
const replaced =
  older.kind === 'found'
    ? `the build of commit ${older.commit.slice(0, 10)}`
    : `a second build of the same source (${older.reason}: no older one is tried)`

unlessMissing(missingPostgres()).test(
  `this build takes the place of ${replaced}, its manifest too, and no request is lost`,
  async () => {
    const server = startScriptedServer({ models: ['org/chat-1'] })
    ends.push(() => server.stop())
    const [old, young] = [await olderBuild(older, server.url), await currentBuild(server.url)]
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

    const database = await startPostgres()
    ends.push(() => database.stop())
    const door = await openServiceDoor()
    ends.push(() => door.close())
    const startGateway = async (build: ProgramBuild) => {
      const port = freePort()
      const gateway = startProgram([
        ...[...build.command('gateway'), '--port', `${port}`, '--databaseUrl', database.url],
        ...['--logDir', logDir],
        ...(splitsTokens(build)
          ? ['--adminToken', adminToken, '--registerToken', token]
          : oneToken),
      ])
      ends.push(() => gateway.stop())
      await gateway.until(/gateway is ready/)
      door.leadTo(port)
      return gateway
    }
    const startWorker = async (build: ProgramBuild) => {
      const worker = startProgram([
        ...[...build.command('worker'), '--engineUrl', server.url, '--port', `${freePort()}`],
        ...['--gatewayUrl', door.url],
        ...(splitsTokens(build) ? ['--registerToken', token] : oneToken),
        ...['--softwareIdentity', join(folder, 'leaf.json')],
      ])
      ends.push(() => worker.stop())
      await worker.until(/worker is ready/)
      return worker
    }
    const startProxy = async (build: ProgramBuild, key: string) => {
      const args = [
        ...['--apiEndpoint', door.url, '--apiKey', key, '--manifestLogKey', signer.verifierKey],
        ...['--allowSoftwareAttestation', '--softwareRootFingerprint', fingerprint],
        ...['--trafficShape', 'off'],
      ]
      const proxy = await spawnProxy(args, { command: build.command('proxy') })
      ends.push(() => proxy.stop())
      return proxy
    }

    const oldGateway = await startGateway(old)
    const oldWorker = await startWorker(old)
    const key = await createKey(door.url, splitsTokens(old) ? adminToken : token)
    const oldProxy = await startProxy(old, key)
    const traffic = startTraffic()
    traffic.through(oldProxy.url)
    await traffic.served(20)

    // The new manifest comes first and accepts both builds; a new proxy meets the old backend.
    await publish([old, young])
    const newProxy = await startProxy(young, key)
    traffic.through(newProxy.url)
    await traffic.served(20)

    // A new gateway migrates the database next to the old one, which then stops.
    await startGateway(young)
    await traffic.served(20)
    await oldGateway.stop()
    await traffic.served(20)

    // The old proxy, which knows the first manifest, meets the new backend alone.
    await startWorker(young)
    await oldWorker.stop()
    await traffic.served(40)

    // At last the old build is no longer accepted.
    await publish([young])
    await traffic.served(40)
    const { lost, count } = await traffic.stop()
    expect(lost).toEqual([])
    expect(count).toBeGreaterThan(200)
    expect(enforced(oldProxy).length).toBeGreaterThanOrEqual(2)
    expect(enforced(newProxy).length).toBeGreaterThanOrEqual(1)
  },
  180_000,
)

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
  return async (builds: readonly ProgramBuild[]) => {
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

/** Older builds have one token for everything. */
function splitsTokens(build: ProgramBuild): boolean {
  const help = Bun.spawnSync([...build.command('gateway'), '--help'])
  return help.stdout.toString().includes('--registerToken')
}

async function createKey(gatewayUrl: string, bearer: string): Promise<string> {
  const response = await fetch(`${gatewayUrl}/privatemode/v1/admin/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: '{"name":"upgrade"}',
  })
  return ((await response.json()) as { secret: string }).secret
}

function enforced(proxy: ProxyProcess): string[] {
  const text = readFileSync(join(proxy.workspace, 'manifests/log.txt'), 'utf8')
  return text.trim().split('\n')
}
