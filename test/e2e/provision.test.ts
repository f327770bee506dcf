/** A worker that gets its register token only after an operator has verified it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatManifest } from '@privatemode/attestation'
import {
  createSoftwareRoot,
  formatSoftwareIdentity,
  issueSoftwareLeaf,
  softwareRootFingerprint,
} from '@privatemode/attestation/software/producer'
import { workerPaths } from '@privatemode/protocol/fleet'
import { createLog } from '@privatemode/service'
import { parseSettings, startWorker, type Worker } from '@privatemode/worker'
import { measureSources } from '@privatemode/worker/measurement'
import { provisionCommand } from '../../apps/verify/src/provision/provision-command.ts'
import { ScriptedEngine } from '../../packages/inference/src/testing/scripted-engine.ts'

const token = 'register-token-that-is-sealed-0123456789abcdef'
const folder = mkdtempSync(join(tmpdir(), 'privatemode-provision-'))
const registered: string[] = []
const seen: string[] = []
let refusing = false

/** A gateway as far as registering goes. */
const registry = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch({ method, headers }) {
    if (method !== 'PUT') return Response.json({ left: true, linger_seconds: 0 })
    registered.push(headers.get('authorization') ?? '')
    if (refusing) return Response.json({}, { status: 401 })
    return Response.json({ lease_seconds: 1, drain: false })
  },
})
/** Between operator and worker: keeps what passes. */
const wire = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const body = await request.bytes()
    seen.push(Buffer.from(body).toString('latin1'))
    const { pathname } = new URL(request.url)
    return fetch(workerUrl + pathname, { method: 'POST', headers: request.headers, body })
  },
})

let workerUrl = ''
let fingerprint = ''
let starting: Promise<Worker>

beforeAll(async () => {
  const at = new Date()
  const root = await createSoftwareRoot({ name: 'test root', at, days: 2 })
  fingerprint = await softwareRootFingerprint(root)
  const leaf = await issueSoftwareLeaf(root, { name: 'test worker', at, days: 1 })
  writeFileSync(join(folder, 'leaf.json'), await formatSoftwareIdentity(leaf), { mode: 0o600 })
  writeFileSync(join(folder, 'models.json'), '[{"id":"scripted","path":"none","task":"generate"}]')
  const parsed = parseSettings({
    args: [
      ...['--port', '0', '--gatewayUrl', `http://127.0.0.1:${registry.port}`],
      ...['--modelsFile', join(folder, 'models.json'), '--awaitRegisterToken'],
      ...['--softwareIdentity', join(folder, 'leaf.json'), '--drainMs', '1000'],
    ],
    env: {},
  })
  if (parsed.kind !== 'settings') throw new Error('no settings')
  const waiting = Promise.withResolvers<string>()
  starting = startWorker(parsed.settings, {
    env: {},
    createEngine: async () => new ScriptedEngine(),
    log: createLog({
      format: 'json',
      level: 0,
      write: (lines) => {
        for (const line of lines.trim().split('\n')) {
          const { msg, url } = JSON.parse(line)
          if (msg === 'waiting for a register token') waiting.resolve(url)
        }
      },
    }),
  })
  starting.catch(waiting.reject)
  workerUrl = await waiting.promise
}, 120_000)

afterAll(async () => {
  await (await starting).stop()
  await wire.stop(true)
  await registry.stop(true)
  rmSync(folder, { recursive: true, force: true })
})

function writeManifest(measurement: string): string {
  const path = join(folder, 'manifest.json')
  const rule = { kind: 'software', measurements: [measurement], root: fingerprint, minimum_tcb: 1 }
  const [model] = new ScriptedEngine().models()
  if (model === undefined) throw new Error('no model')
  const { id, tasks, contextLength, displayName, created, digest } = model
  const manifest = formatManifest({
    issuedAt: '2026-01-01T00:00:00Z',
    serial: 1,
    evidence: 'software',
    roles: { worker: { accept: [rule] } },
    models: [{ id, tasks, contextLength, displayName, created, digest: `sha256:${digest}` }],
  })
  writeFileSync(path, manifest)
  return path
}

async function send(measurement: string, sent = token) {
  const file = join(folder, 'token')
  writeFileSync(file, `${sent}\n`)
  const lines: string[] = []
  const print = (line: string) => void lines.push(line)
  const code = await provisionCommand.run(
    [
      ...[`http://127.0.0.1:${wire.port}`, '--token', `@${file}`],
      ...['--manifest', writeManifest(measurement), '--software-root', fingerprint],
    ],
    { out: print, error: print },
  )
  return { code, text: lines.join('\n') }
}

const measured = Buffer.from(measureSources()).toString('hex')

test('a worker that the manifest does not list gets nothing', async () => {
  const { code, text } = await send('ab'.repeat(48))
  expect(text).toContain('nothing was sent')
  expect(code).toBe(1)
  expect(seen.length).toBe(1) // the nonce, and nothing after it
  expect(registered).toEqual([])
}, 60_000)

test('a message that is not a register token, or not sealed to the worker, is refused', async () => {
  const post = (body: string) =>
    fetch(workerUrl + workerPaths.provision, { method: 'POST', body }).then(({ status }) => status)
  expect(await post(JSON.stringify({ register_token: token }))).toBe(400)
  expect(registered).toEqual([])
}, 60_000)

test('a token that the gateway refuses can be replaced, one that it accepted cannot', async () => {
  refusing = true
  expect((await send(measured, 'a-wrong-token')).text).toContain('SOFTWARE evidence')
  while (!registered.includes('Bearer a-wrong-token')) await Bun.sleep(10)
  refusing = false
  expect((await send(measured)).code).toBe(0)
  await starting
  while (!registered.includes(`Bearer ${token}`)) await Bun.sleep(10)
  // What passed between operator and worker has neither token in it.
  expect(seen.filter((body) => body.includes('token'))).toEqual([])
  const late = await send(measured, 'another')
  expect(late.text).toContain('answered status 404')
  expect(late.code).toBe(1)
  expect(registered).not.toContain('Bearer another')
}, 120_000)

test('a register token at the start and one that is awaited exclude each other', () => {
  const args = ['--registerToken', token, '--awaitRegisterToken']
  expect(() => parseSettings({ args, env: {} })).toThrow(/either --registerToken or --await/)
})
