import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import {
  formatAttestation,
  parseAttestation,
  type VerifyWorkerInputs,
  verifyWorker,
} from '@privatemode/attestation'
import { gpuOcsp } from '../../../../packages/attestation/src/testing/nvidia-world.ts'
import { rejection, thrown } from '../../../../test/rejection.ts'
import type { EvidenceSource } from './evidence-source.ts'
import { formatTable, tableGuids } from './testing/certificate-table-writer.ts'
import { type TestMachine, testMachine } from './testing/test-machine.ts'

// The machine has RSA keys, which take seconds to generate on a busy computer.
setDefaultTimeout(60_000)
let machine: TestMachine
beforeAll(async () => {
  machine = await testMachine()
})
afterAll(() => machine.dispose())
afterEach(() => {
  machine.vendors.instead.clear()
  machine.vendors.requests.length = 0
  machine.lines.length = 0
})

/** Acts as a client: draws a nonce, requests evidence and parses it from its bytes. */
async function ask(source: EvidenceSource): Promise<VerifyWorkerInputs> {
  const inputs = await machine.inputs()
  const nonce = crypto.getRandomValues(new Uint8Array(32))
  const statement = new Uint8Array(inputs.statement)
  const evidence = await source.produce(nonce, statement)
  return { ...inputs, nonce, ...parseAttestation(formatAttestation({ statement, evidence })) }
}

/** Requests evidence and verifies it under the manifest. */
const verify = async (source: EvidenceSource) => verifyWorker(await ask(source))

const fail =
  (status = 503) =>
  () =>
    new Response('out of order', { status })
const logged = (text: string) => machine.lines.filter((line) => line.includes(text))

test('an SEV-SNP machine with a GPU is attested: report, GPU and all collateral', async () => {
  const source = await machine.choose(machine.kernel('snp'), '--gpus', '1')
  expect(await verify(source)).toMatchObject({ workerId: 'w_hardware', hardware: true })
  expect(logged('evidence source chosen')[0]).toContain(
    "SEV-SNP through configfs-tsm, 1 GPU(s) through NVIDIA's tool",
  )
  expect(logged('own evidence is authentic').length).toBe(1)
  expect(logged('WARN')).toEqual([])
})

test('two GPUs are attested', async () => {
  const command = `${process.execPath} ${import.meta.dir}/testing/fake-gpu-tool.ts print`
  const source = await machine.choose(
    machine.kernel('snp'),
    ...['--gpus', '2', '--gpuCommand'],
    `${command} ${machine.vendors.url}/gpu?count=2&nonce={nonce}`,
  )
  const asking = await ask(source)
  expect((await verifyWorker(asking)).hardware).toBe(true)
  expect(asking.evidence.devices.length).toBe(2)
  // Each device's own certificate is queried; the CAs above it are shared.
  const asked = machine.vendors.requests.filter((request) => request === 'POST /ocsp')
  expect(asked.length).toBe(2 + 2 + 3)
})

test('a TDX machine with a GPU is attested', async () => {
  const source = await machine.choose(machine.kernel('tdx'), '--gpus', '1')
  expect((await verify(source)).hardware).toBe(true)
  expect(logged('evidence source chosen')[0]).toContain('TDX through configfs-tsm')
  expect(logged('WARN')).toEqual([])
})

test('collateral is fetched once for many requests', async () => {
  const source = await machine.choose(machine.kernel('snp'))
  machine.vendors.requests.length = 0
  const { statement } = await machine.inputs()
  const nonces = Array.from({ length: 8 }, (_, n) => new Uint8Array(32).fill(n))
  await Promise.all(nonces.map((nonce) => source.produce(nonce, statement)))
  expect(machine.vendors.requests).toEqual([])
})

test("the host's certificates are used, and only the revocation list is fetched from the vendor", async () => {
  const { amd } = machine.world
  const { askDer, arkDer } = amd.authorities
  const auxblob = async () =>
    formatTable([
      [tableGuids.vcek, await amd.issueLeaf()],
      [tableGuids.ask, askDer],
      [tableGuids.ark, arkDer],
    ])
  await machine.choose(machine.kernel('snp', { auxblob }))
  expect(machine.vendors.requests).toEqual(['GET /kds/vcek/v1/Genoa/crl'])
  expect(logged('own evidence is authentic').length).toBe(1)
})

test("if the host's certificate is for an older TCB, a new one is fetched", async () => {
  const { amd } = machine.world
  const old = { bootloader: 9, tee: 1, snp: 23, microcode: 84 }
  const auxblob = async () => formatTable([[tableGuids.vcek, await amd.issueLeaf({ tcb: old })]])
  await machine.choose(machine.kernel('snp', { auxblob }))
  expect(machine.vendors.requests.some((request) => request.includes('blSPL=10'))).toBe(true)
  expect(logged('own evidence is authentic').length).toBe(1)
})

test.each([
  ['snp', '/kds/vcek/v1/Genoa/crl', 'crl_missing'],
  ['snp', '/kds/vcek/v1/Genoa/cert_chain', 'chain_mismatch'],
  ['snp', '/kds/vcek/v1/Genoa/f', 'chain_mismatch'],
  ['snp', '/rim/', 'collateral_missing'],
  ['snp', '/ocsp', 'revocation_unknown'],
  ['tdx', '/pcs/tdx/certification/v4/tcb', 'collateral_missing'],
  ['tdx', '/pcs/tdx/certification/v4/qe', 'collateral_missing'],
  ['tdx', '/pcs/sgx', 'crl_missing'],
  ['tdx', '/root-crl', 'crl_missing'],
] as const)('%s without %s: stapled as missing, logged, refused', async (cpu, path, code) => {
  machine.vendors.instead.set(path, fail())
  const source = await machine.choose(machine.kernel(cpu), '--gpus', '1')
  expect(logged('failed to fetch collateral').length).toBeGreaterThan(0)
  expect(logged('own evidence would be refused')[0]).toContain(`code=${code}`)
  expect(await rejection(verify(source))).toMatchObject({ code })
})

test('an unreachable vendor costs collateral but does not prevent startup', async () => {
  const nowhere = ['--amdKdsUrl', 'http://127.0.0.1:1']
  const source = await machine.choose(machine.kernel('snp'), ...nowhere)
  const { evidence } = await ask(source)
  expect(evidence.cpu).toMatchObject({ kind: 'snp', certificates: [], crls: [] })
})

test('a good document in an error response is not used', async () => {
  const { crl } = machine.world.amd
  machine.vendors.instead.set('/kds/vcek/v1/Genoa/crl', () => new Response(crl, { status: 500 }))
  await machine.choose(machine.kernel('snp'))
  expect(logged('answered status 500').length).toBe(1)
})

test('documents and answers about something else are not stapled', async () => {
  const rim = await fetch(`${machine.vendors.url}/rim/v1/rim/NV_GPU_DRIVER_GH100_550.90.07`)
  const answer = (await rim.json()) as object
  machine.vendors.instead.set('/rim/', () => Response.json({ ...answer, id: 'another' }))
  const [about] = await gpuOcsp(machine.world.gpus[0]!)
  machine.vendors.instead.set('/ocsp', () => new Response(about))
  const source = await machine.choose(machine.kernel('snp'), '--gpus', '1')
  const { evidence } = await ask(source)
  expect(evidence.devices[0]?.rims).toEqual([])
  expect(logged('the answer is about another certificate').length).toBeGreaterThan(0)
  expect(evidence.devices[0]?.ocsp).toEqual([Buffer.from(about!).toString('base64')])
})

test('responses that do not match the request are not stapled', async () => {
  machine.vendors.instead.set('/rim/', () => Response.json({ id: 'another', rim: '' }))
  machine.vendors.instead.set('/kds/vcek/v1/Genoa/crl', () => new Response('<html>'))
  machine.vendors.instead.set('/ocsp', () => new Response(Uint8Array.of(0x30, 3, 0x0a, 1, 6)))
  const source = await machine.choose(machine.kernel('snp'), '--gpus', '1')
  const { evidence } = await ask(source)
  expect(evidence.devices[0]).toMatchObject({ rims: [], ocsp: [] })
  expect(evidence.cpu).toMatchObject({ crls: [] })
  expect(logged('the responder answered unauthorized').length).toBeGreaterThan(0)
})

test('requests to an unresponsive vendor time out', async () => {
  machine.vendors.instead.set('/kds/', () => new Promise<Response>(() => {}))
  const before = performance.now()
  // Far more than the processor's report takes on a busy core.
  const timeout = ['--attestationTimeoutMs', '2000']
  const source = await machine.choose(machine.kernel('snp'), ...timeout)
  expect((await ask(source)).evidence.cpu).toMatchObject({ certificates: [], crls: [] })
  expect(performance.now() - before).toBeLessThan(20_000)
})

test('an endless response from a vendor is aborted', async () => {
  const endless = () =>
    new Response(
      new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65536)) }),
    )
  machine.vendors.instead.set('/kds/vcek/v1/Genoa/f', endless)
  await machine.choose(machine.kernel('snp'))
  expect(logged('answered over 32768 bytes').length).toBe(1)
})

test('no evidence at all is produced if a GPU does not attest', async () => {
  machine.vendors.instead.set('/gpu', () => Response.json({ result_code: 1, evidences: null }))
  const starting = machine.choose(machine.kernel('snp'), '--gpus', '1')
  expect(await rejection(starting)).toMatchObject({ code: 'gpu_evidence_unavailable' })
})

test('fewer GPUs than configured are an error', async () => {
  const starting = machine.choose(machine.kernel('snp'), '--gpus', '2')
  expect(await thrown(starting)).toThrow('evidence of 1 GPUs, expected 2')
})

test('a report over different data than requested does not leave the worker', async () => {
  const { amd, intel } = machine.world
  for (const tree of [
    machine.kernel('snp', { report: () => amd.signReport() }),
    machine.kernel('tdx', { report: () => intel.makeQuote() }),
  ]) {
    expect(await rejection(machine.choose(tree))).toMatchObject({ code: 'report_conflict' })
  }
})

test('a machine that changes its kind is refused', async () => {
  const snp = machine.kernel('snp')
  let turned = false
  const read: typeof snp.read = (entry, attribute, limit) =>
    turned && attribute === 'provider'
      ? Promise.resolve(new TextEncoder().encode('tdx_guest\n'))
      : snp.read(entry, attribute, limit)
  const source = await machine.choose({ ...snp, read })
  turned = true
  expect(await rejection(verify(source))).toMatchObject({ code: 'report_unavailable' })
})

test('evidence is bound to its nonce', async () => {
  const source = await machine.choose(machine.kernel('snp'), '--gpus', '1')
  const { evidence } = await ask(source)
  const other = verifyWorker({ ...(await machine.inputs()), evidence })
  expect(await rejection(other)).toMatchObject({ code: 'binding_mismatch' })
})
