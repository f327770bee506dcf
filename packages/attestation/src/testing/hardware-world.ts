/** Machines of test vendors with GPUs of a test vendor, and a manifest that accepts them. */
import { deviceNonce, reportData } from '../binding.ts'
import { formatBase64, formatHex, parseBase64 } from '../bytes.ts'
import { integer } from '../der/der-writer.ts'
import type { CpuEvidence, NvidiaGpuEvidence } from '../evidence.ts'
import { formatManifest, type ManifestDraft, parseManifest } from '../manifest/manifest.ts'
import { formatStatement, type Statement, sealKeyId } from '../statement.ts'
import type { JsonObject } from '../strict-json.ts'
import type { VerifyWorkerInputs } from '../verify-worker.ts'
import { parseCertificate } from '../x509/certificate.ts'
import {
  certify,
  compositeDeviceId,
  driverVersion,
  gpuEvidence,
  gpuReport,
  makeNvidiaWorld,
  type NvidiaWorld,
  signReport,
  vbiosVersion,
} from './nvidia-world.ts'
import { type SnpWorld, snpWorld, testMeasurement, testTcb } from './snp-world.ts'
import { chatModel } from './software-world.ts'
import type { OpaquePart } from './spdm-writer.ts'
import { issueCrl, keyUsageBits, testNow } from './test-authority.ts'
import { makeTestIntel, type TestIntel } from './test-intel.ts'
import { testMachine } from './test-tdx-machine.ts'

export type HardwareRequest = {
  readonly cpu?: 'snp' | 'tdx'
  /** Which of the test GPUs are in the machine, by number. */
  readonly gpus?: readonly number[]
  /** What the GPUs sign instead of the nonce that binds them. */
  readonly gpuNonce?: Uint8Array
  /** Fields of the GPUs' reports, replacing their own of the same type. */
  readonly opaque?: readonly OpaquePart[]
  readonly draft?: Partial<ManifestDraft>
}

export type HardwareWorld = {
  readonly amd: SnpWorld
  readonly intel: TestIntel
  readonly gpus: readonly NvidiaWorld[]
  readonly draft: ManifestDraft
  readonly snpRule: JsonObject
  readonly tdxRule: JsonObject
  /** The serial number by which a rule lists a GPU. */
  readonly serialOf: (gpu: number) => string
  /** All inputs of `verifyWorker`, valid unless requested otherwise. */
  readonly inputs: (request?: HardwareRequest) => Promise<VerifyWorkerInputs>
}

/** `receiptKey` is the public key in the worker's statement. */
export async function hardwareWorld(
  receiptKey: Uint8Array<ArrayBuffer> = new Uint8Array(32).fill(9),
): Promise<HardwareWorld> {
  const amd = await snpWorld()
  const intel = await makeTestIntel()
  const gpu = await makeNvidiaWorld()
  const gpus = [gpu, await secondGpu(gpu)]
  const numberedCrl = await issueCrl({
    issuer: amd.ark,
    extensions: [{ oid: '2.5.29.20', value: integer(7) }],
  })
  const nonce = crypto.getRandomValues(new Uint8Array(32))
  const statement = formatStatement(await testStatement(receiptKey))
  const roots = {
    amd: amd.context.roots.amd,
    intel: intel.context.roots.intel,
    nvidiaDevice: gpu.roots.nvidiaDevice,
    nvidiaRim: gpu.roots.nvidiaRim,
    software: [],
  }
  const draft: ManifestDraft = {
    issuedAt: '2026-01-01T00:00:00Z',
    serial: 1,
    evidence: 'hardware',
    roles: { worker: { accept: [snpRule, tdxRule] } },
    models: [chatModel],
  }
  const attestGpu = async (
    gpu: NvidiaWorld,
    bound: Uint8Array,
    changes: readonly OpaquePart[] = [],
  ): Promise<NvidiaGpuEvidence> => {
    const good = gpuReport(gpu, { nonce: bound })
    const kept = good.opaque.filter(({ type }) => !changes.some((change) => change.type === type))
    const report = await signReport(gpu, { ...good, opaque: [...kept, ...changes] })
    return gpuEvidence(gpu, { report })
  }
  const attestCpu = async (kind: 'snp' | 'tdx', bound: Uint8Array): Promise<CpuEvidence> => {
    switch (kind) {
      case 'snp':
        return {
          ...(await amd.attest({
            patches: [
              { at: 0x50, bytes: bound },
              { at: 0xe0, bytes: new Uint8Array(48).fill(0x1d) },
              { at: 0x110, bytes: new Uint8Array(48).fill(0xa0) },
            ],
          })),
          crls: [formatBase64(numberedCrl)],
        }
      case 'tdx':
        return intel.attest({ reportData: bound })
    }
  }
  const inputs: HardwareWorld['inputs'] = async (request = {}) => {
    const present = (request.gpus ?? [0]).map((number) => gpus[number]!)
    const gpuNonce = request.gpuNonce ?? (await deviceNonce({ nonce, statement }))
    const devices = await Promise.all(
      present.map((gpu) => attestGpu(gpu, gpuNonce, request.opaque)),
    )
    const deviceReports = devices.map(({ report }) => parseBase64(report)!)
    const bound = await reportData({ nonce, statement, deviceReports })
    return {
      nonce,
      statement,
      evidence: { cpu: await attestCpu(request.cpu ?? 'snp', bound), devices },
      manifest: await parseManifest(formatManifest({ ...draft, ...request.draft })),
      roots,
      revocation: { allowUnknown: false, revokedGraceHours: 0 },
      at: testNow,
    }
  }
  const serialOf = (number: number): string =>
    parseCertificate(gpus[number]!.deviceChain[3]!.certificate).serialHex
  return { amd, intel, gpus, draft, snpRule, tdxRule, serialOf, inputs }
}

const devices = {
  'nvidia-gpu': {
    count: { min: 1, max: 2 },
    architectures: ['hopper'],
    driver: { minimum: driverVersion },
    vbios: { allowed: [vbiosVersion] },
  },
}

const snpRule: JsonObject = {
  kind: 'snp',
  measurements: [formatHex(testMeasurement)],
  minimum_tcb: { Genoa: { ...testTcb.Genoa } },
  signers: ['vcek'],
  guest_policy: { allow: ['smt'], require: [] },
  platform: { allow: ['smt'], require: ['ecc'] },
  devices,
}

const tdxRule: JsonObject = {
  kind: 'tdx',
  measurements: [
    {
      mr_td: '70'.repeat(48),
      rtmr0: '10'.repeat(48),
      rtmr1: '11'.repeat(48),
      rtmr2: '12'.repeat(48),
    },
  ],
  accepted_tcb_statuses: [],
  td_attributes: formatHex(testMachine.tdAttributes),
  xfam: 'e702060000000000',
  devices,
}

/** Another device of the same vendor, with its own certificate, key and serial number. */
async function secondGpu(first: NvidiaWorld): Promise<NvidiaWorld> {
  const above = first.deviceChain.slice(0, 3)
  const device = await certify(above[2]!, 'GH100 A01 GSP BROM', 0x0200, {
    ca: {},
    keyUsage: keyUsageBits.keyCertSign | keyUsageBits.cRLSign,
  })
  const leaf = await certify(device, 'GH100 A01 GSP FMC LF', 0x5002, {
    keyUsage: keyUsageBits.digitalSignature,
    extensions: [{ oid: '2.23.133.5.4.1', value: compositeDeviceId(device, first.firmwareId) }],
  })
  return { ...first, deviceChain: [...above, device], leaf }
}

async function testStatement(receiptKey: Uint8Array<ArrayBuffer>): Promise<Statement> {
  const publicKey = new Uint8Array(1216).fill(7)
  return {
    workerId: 'w_hardware',
    role: 'worker',
    sealKey: {
      id: await sealKeyId(publicKey),
      kem: 'X-Wing',
      publicKey,
      expiresAt: new Date(testNow.getTime() + 86_400_000),
    },
    receiptKey,
    models: [chatModel],
    engine: 'vllm 1',
    build: 'a build',
  }
}
