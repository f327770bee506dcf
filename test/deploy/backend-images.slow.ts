/** A whole system from three images, each in a bare root: proxy, gateway and worker with a model server. */
import { afterAll, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatManifest } from '@privatemode/attestation'
import {
  createSoftwareRoot,
  formatSoftwareIdentity,
  issueSoftwareLeaf,
  softwareRootFingerprint,
} from '@privatemode/attestation/software/producer'
import { freePort, unlessMissing } from '@privatemode/service/testing'
import { measureSources } from '@privatemode/worker/measurement'
import { startScriptedServer } from '../../packages/inference/src/testing/scripted-server.ts'
import { type RunningProgram, startProgram } from './running-program.ts'
import { bareCommand, cannotRunBare, unpackImage } from './unpacked-image.ts'

const token = 'admin-token-for-tests-0123456789abcdef'
const registerToken = 'register-token-for-tests-0123456789abcdef'
const images = {
  proxy: unpackImage('privatemode-proxy', 'amd64'),
  gateway: unpackImage('privatemode-gateway', 'amd64'),
  worker: unpackImage('privatemode-worker', 'amd64'),
}
const server = startScriptedServer({ models: ['org/chat-1'] })
const folders = { proxy: makeFolder(), gateway: makeFolder(), worker: makeFolder() }
const running: RunningProgram[] = []

afterAll(async () => {
  for (const program of running.toReversed()) await program.stop()
  await server.stop()
  for (const image of Object.values(images)) image.remove()
  for (const folder of Object.values(folders)) rmSync(folder, { recursive: true, force: true })
})

unlessMissing(cannotRunBare).describe('the images together', () => {
  test('serve a sealed request', async () => {
    const root = await createSoftwareRoot({ name: 'image test', at: new Date(), days: 2 })
    const leaf = await issueSoftwareLeaf(root, { name: 'worker', at: new Date(), days: 1 })
    writeFileSync(join(folders.worker, 'leaf.json'), await formatSoftwareIdentity(leaf))
    const gatewayPort = freePort()
    const gatewayUrl = `http://127.0.0.1:${gatewayPort}`
    await start('gateway', /gateway is ready/, [
      ...['--host', '127.0.0.1', '--port', `${gatewayPort}`, '--adminToken', token],
      ...['--registerToken', registerToken],
      ...['--dataDir', '/workspace/database', '--portalDir', '/usr/share/privatemode/portal'],
    ])
    const engine = ['--engineUrl', server.url, '--softwareIdentity', '/workspace/leaf.json']
    const described = await describeWorker(engine)
    const metricsPort = freePort()
    await start('worker', /worker is ready/, [
      ...['--host', '127.0.0.1', '--port', `${freePort()}`, '--gatewayUrl', gatewayUrl],
      ...['--registerToken', registerToken, '--metricsPort', `${metricsPort}`, ...engine],
    ])
    const fingerprint = await softwareRootFingerprint(root)
    writeManifest(fingerprint, described)
    const proxyPort = freePort()
    await start('proxy', /msg=ready/, [
      ...['--listenAddress', '127.0.0.1', '--port', `${proxyPort}`, '--apiEndpoint', gatewayUrl],
      ...['--manifestPath', '/workspace/manifest.json', '--allowSoftwareAttestation'],
      ...['--softwareRootFingerprint', fingerprint, '--apiKey', await createKey(gatewayUrl)],
    ])
    const response = await fetch(`http://127.0.0.1:${proxyPort}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"model":"org/chat-1","messages":[{"role":"user","content":"[[say all is well]]"}]}',
    })
    expect(await response.json()).toMatchObject({
      choices: [{ message: { content: 'all is well' } }],
    })
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    expect(metrics).toContain('requests_total{model="org/chat-1",outcome="complete"} 1')
    expect(metrics).not.toContain('all is well')
    await expectPortal(gatewayUrl)
  })

  test('the worker in the image has the same measurement as its sources', async () => {
    const { measurement } = await describeWorker(['--engineUrl', server.url])
    expect(measurement).toBe(Buffer.from(measureSources()).toString('hex'))
  })
})

test('the gateway’s image has no file that seals, opens or verifies', () => {
  const files = readdirSync(join(images.gateway.root, 'app'), { recursive: true, encoding: 'utf8' })
  const suspicious = /envelope|attestation\/src|noble|hpke|packages\/sdk/
  expect(files.filter((file) => suspicious.test(file))).toEqual([])
  expect(files).toContain('apps/gateway/src/main.ts')
})

test('no image has tests or a shell', () => {
  for (const { root } of Object.values(images)) {
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    expect(files.filter((file) => /\.test\.ts$|(^|\/)(sh|bash|busybox)$/.test(file))).toEqual([])
  }
})

/** The document and every script and style that it names. */
async function expectPortal(gatewayUrl: string): Promise<void> {
  const document = await (await fetch(`${gatewayUrl}/`)).text()
  const assets = [...document.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path)
  expect(assets.length).toBeGreaterThan(2)
  for (const path of assets) expect((await fetch(`${gatewayUrl}${path}`)).status).toBe(200)
}

type Part = keyof typeof images

async function start(part: Part, ready: RegExp, args: readonly string[]): Promise<void> {
  const program = startProgram(
    bareCommand(images[part], { workspace: folders[part], args, env: ['HOME=/'] }),
  )
  running.push(program)
  await program.until(ready)
}

type Description = { measurement: string; models: Parameters<typeof formatManifest>[0]['models'] }

async function describeWorker(engine: readonly string[]): Promise<Description> {
  const args = ['describe', ...engine]
  const program = startProgram(bareCommand(images.worker, { workspace: folders.worker, args }))
  const [text] = await program.until(/^\{.*\}$/m)
  return JSON.parse(text) as Description
}

function writeManifest(root: string, { measurement, models }: Description): void {
  const rule = { kind: 'software', measurements: [measurement], root, minimum_tcb: 1 }
  const bytes = formatManifest({
    issuedAt: '2026-01-01T00:00:00Z',
    serial: 1,
    evidence: 'software',
    roles: { worker: { accept: [rule] } },
    models,
  })
  writeFileSync(join(folders.proxy, 'manifest.json'), bytes)
}

async function createKey(gatewayUrl: string): Promise<string> {
  const response = await fetch(`${gatewayUrl}/privatemode/v1/admin/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"name":"image test"}',
  })
  return ((await response.json()) as { secret: string }).secret
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-workspace-'))
  chmodSync(folder, 0o1777)
  return folder
}
