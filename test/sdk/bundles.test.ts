import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cosignCheckpoint, publishEntry } from '@privatemode/attestation'
import { type ConnectOptions, Privatemode } from '@privatemode/sdk'
import { acceptSoftware } from '@privatemode/sdk/software'
import { bundleCommand } from '../../apps/verify/src/bundle/bundle-command.ts'
import { MemoryLog, newSigner } from '../../packages/attestation/src/testing/memory-log.ts'
import { type System, startSystem } from '../e2e/system.ts'
import { rejection } from '../rejection.ts'

const model = 'org/chat-1'
const messages = [{ role: 'user' as const, content: 'hello' }]
const log = new MemoryLog()
const signer = await newSigner('log.example')
const witnesses = await Promise.all(
  ['w1.example', 'w2.example', 'w3.example'].map((name) => newSigner(name, 'cosignature/v1')),
)
let system: System

beforeAll(async () => {
  system = await startSystem()
  await publishEntry(log, signer, system.manifest)
  await cosign(witnesses[0])
  await cosign(witnesses[2])
}, 150_000)

afterAll(() => system?.stop(), 90_000)

async function cosign(witness: (typeof witnesses)[number] | undefined): Promise<void> {
  const checkpoint = log.files.get('checkpoint')
  if (witness === undefined || checkpoint === undefined) throw new Error('nothing to sign')
  await log.write('checkpoint', await cosignCheckpoint(checkpoint, witness, new Date()))
}

const logUrl = 'https://log.example/files'
/** The network, with the log of this test at its place. */
const network = async (url: string, init: RequestInit): Promise<Response> => {
  if (!url.startsWith(logUrl)) return fetch(url, init)
  const file = log.files.get(url.slice(logUrl.length + 1))
  return new Response(file === undefined ? null : new Uint8Array(file), {
    status: file === undefined ? 404 : 200,
  })
}

const keys = witnesses.map(({ verifierKey }) => verifierKey)
const inLog = { logKey: signer.verifierKey, url: logUrl }
const connect = (manifest: ConnectOptions['manifest']) =>
  Privatemode.connect({
    apiKey: system.apiKey,
    endpoint: system.gatewayUrl,
    software: acceptSoftware(system.rootFingerprint),
    fetch: network,
    shape: 'off',
    manifest,
  })

async function verify(pm: Privatemode, receipt: Receipt, trust: string[], more: string[] = []) {
  const { bytes, verifiedAt } = pm.verification.bundle({ receipt })
  const path = join(system.folder, 'bundle.json')
  writeFileSync(path, bytes)
  const lines: string[] = []
  const out = (text: string) => void lines.push(text)
  const args = ['--at', verifiedAt.toISOString(), '--software-root', system.rootFingerprint]
  const all = ['verify', path, ...args, ...trust, ...more]
  return { code: await bundleCommand.run(all, { out, error: out }), text: lines.join('\n') }
}
type Receipt = Awaited<ReturnType<Privatemode['receiptOf']>>

test('the bundle of an answer is verified offline, with the log, its witnesses and the bodies', async () => {
  const pm = await connect({ ...inLog, witnesses: keys, quorum: 2 })
  const body = JSON.stringify({ model, messages })
  const response = await pm.fetch(`${pm.baseURL}/chat/completions`, { method: 'POST', body })
  const answer = await response.text()
  const receipt = await pm.receiptOf(response)
  const [request, given] = ['request.json', 'answer.json'].map((name) => join(system.folder, name))
  writeFileSync(request ?? '', body)
  writeFileSync(given ?? '', answer)
  const trust = ['--log-key', signer.verifierKey, '--quorum', '2']
  const watched = [...trust, ...keys.flatMap((key) => ['--witness', key])]
  const bodies = ['--request', request ?? '', '--response', given ?? '']
  const good = await verify(pm, receipt, watched, bodies)
  expect(good.text).toContain('VERIFIED')
  expect(good.text).toContain(receipt.requestId)
  expect(good.code).toBe(0)
  const swapped = ['--request', given ?? '', '--response', request ?? '']
  expect((await verify(pm, receipt, watched, swapped)).code).toBe(1)
})

test('a pinned manifest needs no log, and its bundle is verified by its digest', async () => {
  const pm = await connect({ pinned: new TextDecoder().decode(system.manifest) })
  const answer = await pm.chat.create({ model, messages })
  const { manifest } = pm.verification.transcript()
  const trust = ['--manifest-digest', manifest?.digest ?? '']
  expect((await verify(pm, await answer.receipt(), trust)).code).toBe(0)
})

test('a manifest that too few witnesses have seen is refused', async () => {
  const refusal = { code: 'attestation_refused', refusal: 'log_witnesses_missing' }
  expect(await rejection(connect({ ...inLog, witnesses: keys, quorum: 3 }))).toMatchObject(refusal)
  // All of them, unless told.
  expect(await rejection(connect({ ...inLog, witnesses: keys }))).toMatchObject(refusal)
  await expect(connect(inLog)).resolves.toBeInstanceOf(Privatemode)
})
