/** Outbound connections: a CONNECT proxy, TLS inspection, the manifest log, and no other host. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type NoteSigner, publishEntry, refreshCheckpoint } from '@privatemode/attestation'
import {
  createTestAuthority,
  type InspectionAppliance,
  startInspectionAppliance,
} from '@privatemode/service/testing'
import type { Readiness } from '../../apps/proxy/src/trust/readiness.ts'
import { MemoryLog, newSigner } from '../../packages/attestation/src/testing/memory-log.ts'
import { type ManifestHost, startManifestHost } from './manifest-host.ts'
import { openSockets } from './open-sockets.ts'
import { spawnProxy, systemArgs, withoutFlags } from './proxy-process.ts'
import {
  canary,
  chat,
  chatPath,
  errorOf,
  post,
  type ScriptedSystem,
  startScriptedSystem,
} from './scripted-system.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-network-'))
const authority = createTestAuthority('Corp Inspection CA')
const bundle = join(folder, 'bundle.pem')
writeFileSync(bundle, authority.certPem)

let scripted: ScriptedSystem
let appliance: InspectionAppliance
let host: ManifestHost
let signer: NoteSigner & { readonly verifierKey: string }
let args: string[]

beforeAll(async () => {
  scripted = await startScriptedSystem()
  host = startManifestHost()
  signer = await newSigner('manifest.service.test')
  await publishEntry(host.log, signer, scripted.system.manifest)
  appliance = await startInspectionAppliance(authority, {
    'api.service.test:443': scripted.system.gatewayUrl,
    'manifest.service.test:443': host.url,
  })
  args = withoutFlags(systemArgs(scripted.system), ['--apiEndpoint', '--manifestPath'])
  args.push(
    '--apiEndpoint',
    'api.service.test:443',
    '--manifestEndpoint',
    'manifest.service.test:443',
  )
  args.push('--manifestLogKey', signer.verifierKey, '--apiKey', scripted.system.apiKey)
}, 150_000)

afterAll(async () => {
  await appliance.stop()
  await host.stop()
  await scripted.system.stop()
}, 240_000)

const inspected = () => ({ https_proxy: appliance.url, SSL_CERT_FILE: bundle })

describe('behind an HTTPS inspection appliance', () => {
  test('with the bundle everything works, and the appliance reads no prompt, answer, salt or header of a client', async () => {
    const proxy = await spawnProxy(args, { env: inspected() })
    await proxy.logged('coordinator manifest fetched successfully')
    const salt = `${canary}-${'s'.repeat(40)}`
    const own = { authorization: 'Bearer sk-of-client', 'x-project': 'secret-project' }
    const response = await post(proxy, chatPath, chat({ cache_salt: salt }), own)
    expect(await response.text()).toContain('Once upon a time')
    const seen = appliance.seen.join('\n')
    expect(seen).toContain('/privatemode/v1/sealed')
    for (const secret of [canary, 'Once upon a time', salt, 'sk-of-client', 'secret-project']) {
      expect(seen).not.toContain(secret)
    }
    await proxy.stop()
  })

  test('the proxy contacts only the two hosts', async () => {
    appliance.asked.length = 0
    const proxy = await spawnProxy(args, { env: inspected() })
    await (await post(proxy, chatPath, chat())).text()
    expect(new Set(appliance.asked)).toEqual(
      new Set(['api.service.test:443', 'manifest.service.test:443']),
    )
    const outward = openSockets(proxy.pid).filter(({ localPort }) => localPort !== proxy.port)
    expect(outward.length).toBeGreaterThan(0)
    for (const socket of outward) expect(socket.remote).toBe(`127.0.0.1:${appliance.port}`)
    await proxy.stop()
  })

  test('without the bundle the error names the authority and the remedy, in the log and to the client', async () => {
    const proxy = await spawnProxy(args, { env: { https_proxy: appliance.url }, cold: true })
    const line = await proxy.logged('the backend is not verified')
    for (const text of ['unknown authority', 'Corp Inspection CA', 'SSL_CERT_FILE']) {
      expect(line).toContain(text)
    }
    const response = await post(proxy, chatPath, chat())
    expect(response.status).toBe(502)
    expect((await errorOf(response)).error.message).toContain('SSL_CERT_FILE')
    expect((await fetch(`${proxy.url}/ready`)).status).toBe(503)
    expect((await fetch(`${proxy.url}/health`)).status).toBe(200)
    await proxy.stop()
  })

  test('a host the proxy does not let through is named', async () => {
    const elsewhere = args.map((arg) =>
      arg.replace(/^manifest\.service\.test:443$/, 'other.service.test:443'),
    )
    const proxy = await spawnProxy(elsewhere, { env: inspected(), cold: true })
    const line = await proxy.logged('the backend is not verified')
    expect(line).toContain('tunnel to other.service.test was refused')
    await proxy.stop()
  })
})

describe('the manifest log', () => {
  test('a backend that the manifest does not list is refused; the next manifest lets it in', async () => {
    const current = host.log
    host.log = new MemoryLog()
    await publishEntry(host.log, signer, changed({ measurements: ['00'.repeat(48)] }))
    const proxy = await spawnProxy(args, { env: inspected(), cold: true })
    await proxy.logged('worker refused', 'measurement_unknown')
    const refused = await post(proxy, chatPath, chat())
    expect(refused.status).toBe(502)
    expect(refused.headers.get('x-should-retry')).toBe('false')
    expect((await errorOf(refused)).error.code).toBe('attestation_refused')
    const enforced = () => readFileSync(join(proxy.workspace, 'manifests/log.txt'), 'utf8')
    expect(enforced()).toBe('')
    await publishEntry(host.log, signer, changed({}, 2))
    // The manifest host is not asked more often than every two seconds.
    const deadline = performance.now() + 40_000
    let status = 502
    while (status === 502 && performance.now() < deadline) {
      await Bun.sleep(250)
      status = (await post(proxy, chatPath, chat())).status
    }
    expect(status).toBe(200)
    expect(enforced()).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z manifest-2-[0-9a-f]+\.json\n$/)
    await proxy.logged('coordinator manifest changed')
    await proxy.stop()
    host.log = current
  })

  test('a log that is rolled back is refused across restarts', async () => {
    const workspace = mkdtempSync(join(tmpdir(), 'privatemode-rollback-'))
    const older = host.log.copy()
    await publishEntry(host.log, signer, changed({}, 2))
    const first = await spawnProxy(args, { env: inspected(), workspace })
    await first.stop()
    const newest = host.log
    host.log = older
    const second = await spawnProxy(args, { env: inspected(), workspace, cold: true })
    expect(await second.logged('the backend is not verified')).toContain('log_rolled_back')
    const response = await post(second, chatPath, chat())
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect((await errorOf(response)).error.code).toBe('attestation_refused')
    await second.stop()
    host.log = newest
  })

  test('a manifest that this version cannot read says to update the proxy', async () => {
    const current = host.log
    host.log = new MemoryLog()
    const json = JSON.parse(new TextDecoder().decode(scripted.system.manifest))
    const next = new TextEncoder().encode(JSON.stringify({ ...json, invented_later: true }))
    await publishEntry(host.log, signer, next)
    const proxy = await spawnProxy(args, { env: inspected(), cold: true })
    const remedy = 'update the proxy to the latest version'
    await proxy.logged('the backend is not verified', 'manifest_unsupported', remedy)
    expect((await errorOf(await post(proxy, chatPath, chat()))).error.message).toContain(remedy)
    await proxy.stop()
    host.log = current
  })

  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000)
  /** A host whose log was last signed that long ago, until the test is over. */
  async function withLogSigned(hours: number, work: (log: MemoryLog) => Promise<void>) {
    const current = host.log
    host.log = new MemoryLog()
    await publishEntry(host.log, signer, scripted.system.manifest, { at: hoursAgo(hours) })
    await work(host.log)
    host.log = current
  }

  test('a log that was not signed for 72 hours is refused, and accepted once it is re-signed', () =>
    withLogSigned(73, async (log) => {
      const proxy = await spawnProxy(args, { env: inspected(), cold: true })
      await proxy.logged('the backend is not verified', 'log_stale', '73 hours ago')
      const refused = await post(proxy, chatPath, chat())
      expect(refused.headers.get('x-should-retry')).toBe('false')
      const { error } = await errorOf(refused)
      expect(error.code).toBe('attestation_refused')
      expect(error.message).toContain('at most 72 are allowed')
      expect((await fetch(`${proxy.url}/ready`)).status).toBe(503)
      await refreshCheckpoint(log, signer)
      let status = 502
      while (status !== 200) {
        await Bun.sleep(250)
        status = (await post(proxy, chatPath, chat())).status
      }
      await proxy.stop()
    }))

  test('the age of the log is reported, causes a warning after half of the limit, and is bounded by a flag', () =>
    withLogSigned(40, async () => {
      const told = await spawnProxy([...args, '--metrics'], { env: inspected() })
      await told.logged('manifest log has not been signed for a while')
      const ready = (await (await fetch(`${told.url}/ready`)).json()) as Readiness
      expect(ready.log_age_seconds).toBeGreaterThanOrEqual(40 * 3600)
      expect(Date.parse(ready.usable_until ?? '')).toBeGreaterThan(Date.now() + 31 * 3_600_000)
      expect(await (await fetch(told.url)).text()).toContain('(40 h ago)')
      const metrics = await (await fetch(`${told.url}/metrics`)).text()
      const signed = /^privatemode_proxy_log_signed_timestamp_seconds (\d+)$/m.exec(metrics)?.[1]
      expect(Number(signed)).toBeCloseTo(hoursAgo(40).getTime() / 1000, -3)
      await told.stop()
      const strict = [...args, '--manifestMaxAgeHours', '39']
      const proxy = await spawnProxy(strict, { env: inspected(), cold: true })
      await proxy.logged('the backend is not verified', 'log_stale', 'at most 39 are allowed')
      // The cause is where people look first, not only in the log.
      const waiting = (await (await fetch(`${proxy.url}/ready`)).json()) as Readiness
      expect(waiting.cause).toContain('at most 39 are allowed')
      expect(await (await fetch(proxy.url)).text()).toContain('at most 39 are allowed')
      await proxy.stop()
    }))

  test('a log signed by another key is refused', async () => {
    const stranger = await newSigner('manifest.service.test')
    const other = args.map((arg) => (arg === signer.verifierKey ? stranger.verifierKey : arg))
    const proxy = await spawnProxy(other, { env: inspected(), cold: true })
    await proxy.logged('the backend is not verified', 'log_signature_invalid')
    await proxy.stop()
  })
})

/** The system's manifest with changes to its one rule, and another serial number. */
function changed(rule: object, serial = 1): Uint8Array {
  const json = JSON.parse(new TextDecoder().decode(scripted.system.manifest))
  Object.assign(json.roles.worker.accept[0], rule)
  return new TextEncoder().encode(JSON.stringify({ ...json, serial }))
}
