/** Workers at a gateway with TLS and the operator's own authority, all in separate processes. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createSoftwareRoot,
  formatSoftwareIdentity,
  issueSoftwareLeaf,
} from '@privatemode/attestation/software/producer'
import { createTestAuthority } from '@privatemode/service/testing'
import {
  type ScriptedServer,
  startScriptedServer,
} from '../../packages/inference/src/testing/scripted-server.ts'
import { type RunningProgram, startProgram } from '../deploy/running-program.ts'

const token = 'register-token-over-tls-0123456789abcdef'
const adminToken = 'admin-token-over-tls-0123456789abcdef'
const authority = createTestAuthority('Operator CA')
const folder = mkdtempSync(join(tmpdir(), 'privatemode-registration-'))
const inFolder = (name: string) => join(folder, name)
const app = (name: string) => [
  process.execPath,
  join(import.meta.dir, `../../apps/${name}/src/main.ts`),
]
const trusting = ['--gatewayCaPath', inFolder('ca.pem')]

let engine: ScriptedServer
let gatewayUrl: string
const started: RunningProgram[] = []

beforeAll(async () => {
  const at = new Date()
  const root = await createSoftwareRoot({ name: 'test root', at, days: 2 })
  const leaf = await issueSoftwareLeaf(root, { name: 'test worker', at, days: 1 })
  const { certPem, keyPem } = authority.issue(['127.0.0.1'])
  const files = { 'ca.pem': authority.certPem, 'cert.pem': certPem, 'key.pem': keyPem }
  for (const [name, text] of Object.entries(files)) writeFileSync(inFolder(name), text)
  writeFileSync(inFolder('leaf.json'), await formatSoftwareIdentity(leaf), { mode: 0o600 })
  engine = startScriptedServer()
  const gateway = start('gateway', [
    ...['--tlsCertPath', inFolder('cert.pem'), '--tlsKeyPath', inFolder('key.pem')],
    ...['--dataDir', inFolder('gateway'), '--registerToken', token],
    ...['--adminToken', adminToken],
  ])
  const ready = await gateway.until(/gateway is ready.*?(https:\/\/127\.0\.0\.1:\d+)/, 110_000)
  gatewayUrl = ready[1] ?? ''
}, 120_000)

afterAll(async () => {
  await Promise.all(started.map((program) => program.stop()))
  await engine.stop()
  rmSync(folder, { recursive: true, force: true })
})

function start(name: string, args: readonly string[]): RunningProgram {
  const program = startProgram([...app(name), '--port', '0', '--drainMs', '100', ...args])
  started.push(program)
  return program
}

function startWorker(args: readonly string[], registerToken = token): RunningProgram {
  return start('worker', [
    ...['--gatewayUrl', gatewayUrl, '--registerToken', registerToken],
    ...['--engineUrl', engine.url, '--softwareIdentity', inFolder('leaf.json'), ...args],
  ])
}

async function listed(): Promise<{ id: string; lease_until: string }[]> {
  const response = await fetch(`${gatewayUrl}/privatemode/v1/admin/workers`, {
    headers: { authorization: `Bearer ${adminToken}` },
    tls: { ca: authority.certPem },
  })
  return ((await response.json()) as { workers: { id: string; lease_until: string }[] }).workers
}

test('a worker that trusts the authority registers over TLS and renews its lease; others log why not', async () => {
  const known = startWorker(trusting)
  const stranger = startWorker([])
  const impostor = startWorker(trusting, 'a-token-that-someone-made-up-0123456789')
  await known.until(/registered at the gateway.*https:/)
  const [first] = await listed()
  await stranger.until(
    /registration at the gateway failed.*signed by an unknown authority.*Operator CA.*--gatewayCaPath/,
  )
  await impostor.until(/registration at the gateway failed.*status 401/)
  const endMs = performance.now() + 60_000
  let [renewed, ...more] = await listed()
  while (renewed?.lease_until === first?.lease_until && performance.now() < endMs) {
    await Bun.sleep(200)
    ;[renewed, ...more] = await listed()
  }
  expect(more).toEqual([])
  expect(renewed?.id).toMatch(/^w_/)
  expect(renewed?.id).toBe(first?.id ?? '')
  expect(Date.parse(renewed?.lease_until ?? '')).toBeGreaterThan(
    Date.parse(first?.lease_until ?? ''),
  )
  for (const program of started) expect(program.output()).not.toContain(token)
}, 180_000)

test('a worker that would send its token in clear text to another machine does not start', async () => {
  const worker = startWorker(['--gatewayUrl', 'http://gateway.example:8090'])
  expect(await worker.exited).toBe(1)
  expect(worker.output()).toContain('plain http to gateway.example:8090')
}, 240_000)

test('commands reach only a gateway whose authority they are given', async () => {
  const command = (...more: string[]) => {
    const asked = ['keys', 'create', '--name', 'first', '--gateway', gatewayUrl]
    return startProgram([...app('gateway'), ...asked, '--adminToken', adminToken, ...more])
  }
  const trusted = command(...trusting)
  const stranger = command()
  await trusted.until(/"secret": "[^"]+"/, 150_000)
  await stranger.until(/unknown authority/, 150_000)
  expect(await trusted.exited).toBe(0)
  expect(await stranger.exited).toBe(1)
}, 180_000)
