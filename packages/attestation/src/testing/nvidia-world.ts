/** A GPU vendor for tests: device and RIM authorities, one device, its reports and its RIMs. */
import { type Bytes, concatBytes, formatBase64, utf8 } from '../bytes.ts'
import {
  element,
  explicit,
  integer,
  objectIdentifier,
  octetString,
  sequence,
} from '../der/der-writer.ts'
import type { NvidiaGpuEvidence, Roots } from '../evidence.ts'
import { fingerprint, parseCertificate } from '../x509/certificate.ts'
import { type RimEntry, type RimParts, type RimSigner, signRim, writeRim } from './rim-writer.ts'
import { type OpaquePart, writeReport } from './spdm-writer.ts'
import { issueCertificate, issueRoot, keyUsageBits, type TestSubject } from './test-authority.ts'
import { makeKey } from './test-key.ts'
import { issueOcspResponse, type TestAnswer } from './test-ocsp.ts'

export type Authority = { readonly subject: TestSubject; readonly certificate: Bytes }

export type NvidiaWorld = {
  readonly roots: Roots
  /** Root, family, provisioner, device; each certifies the next. */
  readonly deviceChain: readonly Authority[]
  readonly leaf: Authority
  readonly rimAuthorities: readonly Authority[]
  readonly rimSigner: RimSigner & Authority
  readonly firmwareId: Bytes
}

export const driverVersion = '550.90.07'
export const vbiosVersion = '96.00.9F.00.01'
const signs = keyUsageBits.keyCertSign | keyUsageBits.cRLSign

/** `tcbInfoFlags` gives the leaf a DiceTcbInfo, as on Blackwell and later, instead of a device id. */
export async function makeNvidiaWorld(chip = 'GH100', tcbInfoFlags?: number): Promise<NvidiaWorld> {
  const deviceChain = await makeAuthorities([
    'Test Device Identity CA',
    `Test ${chip} Identity`,
    `Test ${chip} Provisioner`,
    `${chip} A01 GSP BROM`,
  ])
  const device = deviceChain[3]!
  const firmwareId = new Uint8Array(48).fill(0xf1)
  const leaf = await certify(device, `${chip} A01 GSP FMC LF`, 0x5001, {
    keyUsage: keyUsageBits.digitalSignature,
    extensions: [
      tcbInfoFlags === undefined
        ? { oid: '2.23.133.5.4.1', value: compositeDeviceId(device, firmwareId) }
        : { oid: '2.23.133.5.4.1.1', value: tcbInfo(firmwareId, tcbInfoFlags) },
    ],
  })
  const rimAuthorities = await makeAuthorities(['Test RIM Root', 'Test RIM CA', 'Test RIM L3'])
  const signer = await certify(rimAuthorities[2]!, 'Test RIM Signer', 0x6001, {
    keyUsage: keyUsageBits.digitalSignature,
  })
  const rimChain = [signer, ...rimAuthorities.toReversed()].map(({ certificate }) => certificate)
  return {
    roots: {
      amd: [],
      intel: [],
      nvidiaDevice: [await fingerprint(deviceChain[0]!.certificate)],
      nvidiaRim: [await fingerprint(rimAuthorities[0]!.certificate)],
      software: [],
    },
    deviceChain,
    leaf,
    rimAuthorities,
    rimSigner: { ...signer, key: signer.subject.key, chain: rimChain },
    firmwareId,
  }
}

export const compositeDeviceId = (device: Authority, firmwareId: Uint8Array): Bytes =>
  sequence(integer(1), device.subject.key.spki, fwid(firmwareId))

export const tcbInfo = (firmwareId: Uint8Array, flags: number): Bytes =>
  sequence(
    element(0x80, utf8('Test Vendor')),
    element(0x83, Uint8Array.of(1)),
    explicit(6, fwid(firmwareId), fwid(new Uint8Array(48))),
    element(0x87, Uint8Array.of(0, flags, 0, 0, 1)),
    element(0x89, Uint8Array.of(0)),
  )

const fwid = (digest: Uint8Array): Bytes =>
  sequence(objectIdentifier('2.16.840.1.101.3.4.2.2'), octetString(digest))

export async function certify(
  issuer: Authority,
  name: string,
  serial: number,
  rest: Partial<Parameters<typeof issueCertificate>[0]>,
): Promise<Authority> {
  const subject = { name, key: await makeKey('p384') }
  const certificate = await issueCertificate({ subject, issuer: issuer.subject, serial, ...rest })
  return { subject, certificate }
}

async function makeAuthorities(names: readonly string[]): Promise<Authority[]> {
  const chain: Authority[] = []
  for (const [index, name] of names.entries()) {
    const issuer = chain[index - 1]
    if (issuer) chain.push(await certify(issuer, name, 0x100 + index, { ca: {}, keyUsage: signs }))
    else {
      const subject = { name, key: await makeKey('p384') }
      chain.push({ subject, certificate: await issueRoot(subject) })
    }
  }
  return chain
}

/** The content of one report; the default is a GPU as its RIMs describe it. */
export type GpuReport = {
  readonly nonce: Uint8Array
  readonly measurements: ReadonlyMap<number, Uint8Array>
  readonly opaque: readonly OpaquePart[]
}

/** Index 12 has alternatives, 35 is the video decoder's, which is off; 50 is in no RIM. */
export const measurement = (index: number): Bytes => new Uint8Array(48).fill(index)
const driverIndexes = [8, 22, 36]
const vbiosIndexes = [1, 2, 13]

export function gpuReport(world: NvidiaWorld, change: Partial<GpuReport> = {}): GpuReport {
  const indexes = [...driverIndexes, ...vbiosIndexes, 50].sort((a, b) => a - b)
  return {
    nonce: new Uint8Array(32).fill(0x11),
    measurements: new Map(indexes.map((index) => [index, measurement(index)])),
    opaque: [
      { type: 6, value: Uint8Array.of(0, 0x9f, 0, 0x96, 1, 0, 0, 0) },
      { type: 15, value: utf8('882\0\0\0\0\0\0') },
      { type: 17, value: utf8('1010\0') },
      { type: 18, value: utf8('0200\0') },
      { type: 3, value: utf8(`${driverVersion}\0`) },
      { type: 11, value: Uint8Array.of(0x55) },
      { type: 20, value: world.firmwareId },
      { type: 36, value: Uint8Array.of(0, 0) },
    ],
    ...change,
  }
}

export async function signReport(world: NvidiaWorld, report: GpuReport): Promise<Bytes> {
  const { nonce, opaque } = report
  const measurements = [...report.measurements].map(([index, value]) => ({ index, value }))
  const unsigned = writeReport({ nonce, measurements, opaque })
  return concatBytes(unsigned, await world.leaf.subject.key.signRaw(unsigned))
}

const entry = (spdmIndex: number, more: Partial<RimEntry> = {}): RimEntry => ({
  index: spdmIndex - 1,
  values: [hexOf(spdmIndex)],
  ...more,
})
const hexOf = (fill: number): string => fill.toString(16).padStart(2, '0').repeat(48)

export const driverRim: RimParts = {
  product: 'GH100',
  edition: 'GPU',
  version: driverVersion,
  entries: [
    entry(2, { active: false, values: ['00'.repeat(48)] }),
    entry(8),
    entry(22),
    // Would not match: the decoder is off.
    entry(36, { values: [hexOf(99)] }),
  ],
}

export const vbiosRim: RimParts = {
  product: 'GH100',
  edition: 'GPU',
  version: vbiosVersion,
  entries: [
    entry(1),
    entry(2),
    entry(8, { active: false }),
    entry(13, { values: [hexOf(77), hexOf(13), hexOf(78)] }),
  ],
}

/** One response per certificate that a responder may know, each signed by its issuer. */
export async function gpuOcsp(
  world: NvidiaWorld,
  change: (name: string) => Partial<TestAnswer> = () => ({}),
): Promise<Bytes[]> {
  const responses: Bytes[] = []
  for (const chain of [world.deviceChain, [...world.rimAuthorities, world.rimSigner]]) {
    for (const [index, issued] of chain.entries()) {
      const issuer = chain[index - 1]
      if (!issuer) continue
      const certificate = parseCertificate(issued.certificate)
      const answer = { certificate, issuer: parseCertificate(issuer.certificate) }
      responses.push(
        await issueOcspResponse({
          answers: [{ ...answer, ...change(issued.subject.name) }],
          signer: issuer.subject,
        }),
      )
    }
  }
  return responses
}

export type EvidenceParts = {
  readonly report?: Uint8Array
  /** DER, leaf first. */
  readonly chain?: readonly Uint8Array[]
  readonly rims?: readonly Uint8Array[]
  readonly ocsp?: readonly Uint8Array[]
}

/** Evidence as a worker would send it, complete unless `parts` says otherwise. */
export async function gpuEvidence(
  world: NvidiaWorld,
  parts: EvidenceParts = {},
): Promise<NvidiaGpuEvidence> {
  const chain = parts.chain ?? [
    world.leaf.certificate,
    ...world.deviceChain.toReversed().map(({ certificate }) => certificate),
  ]
  const rims = parts.rims ?? [
    await signRim(writeRim(driverRim), world.rimSigner),
    await signRim(writeRim(vbiosRim), world.rimSigner),
  ]
  return {
    kind: 'nvidia-gpu',
    report: formatBase64(parts.report ?? (await signReport(world, gpuReport(world)))),
    certificate_chain: formatPem(chain),
    rims: rims.map(formatBase64),
    ocsp: (parts.ocsp ?? (await gpuOcsp(world))).map(formatBase64),
  }
}

export const formatPem = (chain: readonly Uint8Array[]): string =>
  chain
    .map((der) => formatBase64(der).replace(/(.{64})/g, '$1\n'))
    .map((body) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`)
    .join('')
