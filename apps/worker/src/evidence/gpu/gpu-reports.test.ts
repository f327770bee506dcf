import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  formatPem,
  gpuReport,
  makeNvidiaWorld,
  type NvidiaWorld,
  signReport,
} from '../../../../../packages/attestation/src/testing/nvidia-world.ts'
import { rejection } from '../../../../../test/rejection.ts'
import { GpuReports, type GpuSettings } from './gpu-reports.ts'
import { parseGpuOutput } from './parse-gpu-output.ts'
import { runCommand } from './run-command.ts'

const tool = [process.execPath, resolve(import.meta.dir, '../testing/fake-gpu-tool.ts')]
const nonce = new Uint8Array(32).fill(0x42)
const nonceHex = '42'.repeat(32)
const code = 'gpu_evidence_unavailable'
const base64 = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64')
const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))

let world: NvidiaWorld
let device: Record<string, unknown>
let server: Bun.Server<undefined>
const asked: string[] = []
let variables: string | null
/** Settles when a waiting tool has exited. */
const gone = Promise.withResolvers<void>()

beforeAll(async () => {
  world = await makeNvidiaWorld()
  const report = await signReport(world, gpuReport(world, { nonce }))
  const chain = [world.leaf, ...world.deviceChain.toReversed()].map(
    ({ certificate }) => certificate,
  )
  device = {
    arch: 'HOPPER',
    certificate: base64(formatPem(chain)),
    evidence: base64(report),
    nonce: nonceHex,
  }
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch(request) {
      if (request.url.endsWith('/hold')) {
        request.signal.addEventListener('abort', () => gone.resolve())
        return new Promise<Response>(() => {})
      }
      asked.push(new URL(request.url).search)
      variables = request.headers.get('x-env')
      return Response.json({ evidences: [device], result_code: 0, result_message: 'Ok' })
    },
  })
})
afterAll(() => server.stop(true))

const reports = (...words: string[]) => reportsOf({}, ...words)
const reportsOf = (change: Partial<GpuSettings>, ...words: string[]) =>
  new GpuReports({ command: [...tool, ...words], count: 1, timeoutMs: 10_000, env: {}, ...change })

test('the tool is run with our nonce, and its evidence is read', async () => {
  const source = reports('print', `${server.url}gpu?nonce={nonce}`)
  const [gpu] = await source.read(nonce)
  expect(asked).toEqual([`?nonce=${nonceHex}`])
  expect(base64(gpu!.report)).toBe(device.evidence as string)
  expect(gpu!.certificateChain).toStartWith('-----BEGIN CERTIFICATE-----')
})

test('without GPUs nothing is run', async () => {
  expect(await reportsOf({ count: 0, command: ['no-such-program'] }).read(nonce)).toEqual([])
})

test('a tool that fails or is missing causes an error that says so', async () => {
  const failing = reports('fail').read(nonce)
  expect(await rejection(failing)).toMatchObject({
    code,
    message: expect.stringMatching(/ended with 3: no device found/),
  })
  const missing = reportsOf({ command: ['no-such-program', '{nonce}'] }).read(nonce)
  expect(await rejection(missing)).toMatchObject({
    code,
    message: expect.stringContaining('set --gpuCommand'),
  })
})

test('a tool that hangs is killed when its time is up', async () => {
  const before = performance.now()
  const hanging = reportsOf({ timeoutMs: 3_000 }, 'hang', `${server.url}hold`).read(nonce)
  expect(await rejection(hanging)).toMatchObject({
    code,
    message: expect.stringContaining('3000 ms'),
  })
  expect(performance.now() - before).toBeLessThan(10_000)
  await gone.promise
}, 240_000)

test('a tool that floods its output is killed at the limit', async () => {
  const limits = { timeoutMs: 10_000, maxBytes: 100_000 }
  const flooding = runCommand([...tool, 'flood'], {}, limits)
  expect(await rejection(flooding)).toMatchObject({
    code,
    message: expect.stringContaining('over 100000 bytes'),
  })
})

test('the tool sees the paths it needs and none of our secrets', async () => {
  const env = { PATH: '/usr/bin', PRIVATEMODE_WORKER_REGISTER_TOKEN: 'secret' }
  await reportsOf({ env }, 'print', `${server.url}gpu?{nonce}`).read(nonce)
  expect(variables).toBe('PATH')
})

test('runs are serialized, and the queue is bounded', async () => {
  const source = reportsOf({ timeoutMs: 400 }, 'hang')
  const asking = Array.from({ length: 20 }, () => source.read(nonce))
  const codes = await Promise.all(asking.map((one) => one.catch((error) => error.code)))
  expect(codes.filter((one) => one === 'evidence_overloaded').length).toBe(3)
  expect(codes.filter((one) => one === code).length).toBe(17)
})

test('a bare list is accepted, too, and unknown members are ignored', () => {
  const [gpu] = parseGpuOutput(bytes([{ ...device, version: '1.0' }]), nonceHex, 1)
  expect(gpu!.report.length).toBeGreaterThan(37)
})

test.each<[string, () => unknown, number?]>([
  ['no list', () => ({ result_code: 0 })],
  ['a failure of the tool', () => ({ evidences: [device], result_code: 5, result_message: 'no' })],
  ['no result', () => ({ evidences: [device] })],
  ['a number', () => 7],
  ['null', () => null],
  ['too few GPUs', () => [device], 2],
  ['too many GPUs', () => [device, device]],
  ['an entry that is not an object', () => ['x']],
  ['no architecture', () => [{ ...device, arch: undefined }]],
  ['another nonce in the entry', () => [{ ...device, nonce: '43'.repeat(32) }]],
  ['no nonce', () => [{ ...device, nonce: undefined }]],
  ['a report that is not base64', () => [{ ...device, evidence: '!' }]],
  ['a malformed report', () => [{ ...device, evidence: base64('short') }]],
  ['no certificate', () => [{ ...device, certificate: undefined }]],
  ['a certificate that is not PEM', () => [{ ...device, certificate: base64('none') }]],
])('%s is refused', (_, output, count = 1) => {
  expect(() => parseGpuOutput(bytes(output()), nonceHex, count)).toThrow(
    expect.objectContaining({ code }),
  )
})

test('a report that signs a different nonce than its entry names is refused', async () => {
  const other = await signReport(world, gpuReport(world, { nonce: new Uint8Array(32) }))
  const output = bytes([{ ...device, evidence: base64(other) }])
  expect(() => parseGpuOutput(output, nonceHex, 1)).toThrow('signed another nonce')
})

test('output that is not JSON is refused without being quoted', () => {
  const output = new TextEncoder().encode('{"evidences": secret}')
  expect(() => parseGpuOutput(output, nonceHex, 1)).toThrow('the output is not JSON')
})

const published = resolve(import.meta.dir, '../../../../../test/vectors/nvidia/attestation-sdk')

test.each(['hopper_evidence.json', 'evidence_hopper_590_12.json'])(
  'the published evidence %s is read',
  (name) => {
    const text = readFileSync(resolve(published, name))
    const [entry] = JSON.parse(text.toString())
    expect(parseGpuOutput(new Uint8Array(text), entry.nonce, 1).length).toBe(1)
  },
)
