/** Verifies the signer of a report: an NVIDIA device, through its chain to the pinned device root. */
import { equalBytes, formatHex } from '../bytes.ts'
import { AttestationError, type Transcript } from '../verdict.ts'
import { type Certificate, parseCertificate, parsePem } from '../x509/certificate.ts'
import { type ChainTrust, describe, type VerifiedChain, verifyChain } from '../x509/chain.ts'
import { verifySignature } from '../x509/signature.ts'
import { type FirmwareIdentity, readFirmwareIdentity } from './firmware-id.ts'
import type { SpdmReport } from './spdm-report.ts'

export type NvidiaArchitecture = 'hopper' | 'blackwell' | 'ls10'

export type Device = {
  /** The report's signer first, the pinned root last. */
  readonly chain: VerifiedChain
  readonly architecture: NvidiaArchitecture
  /** As certified at the factory: GH100, GB100, GB20X (a family), LS_10. */
  readonly chip: string
  /** The model with its stepping, as printed by NVIDIA's tools. */
  readonly model: string
  /** Serial number of the device's own certificate, unique per device. */
  readonly deviceId: string
  readonly firmwareId: Uint8Array
}

export async function verifyDeviceChain(
  pem: string,
  trust: ChainTrust,
  transcript: Transcript,
): Promise<Device> {
  const id = 'nvidia/chain'
  const certificates = transcript.attempt(id, () => parsePem(pem).map(parseCertificate))
  const chain = await verifyChain(certificates, trust, transcript, id)
  const [leaf, identity] = chain
  const firmware = transcript.attempt('nvidia/leaf', () => readFirmwareIdentity(leaf))
  requireAttestationLeaf(leaf, identity, firmware, transcript)
  return {
    chain,
    ...transcript.attempt('nvidia/architecture', () => readModel(identity)),
    deviceId: identity.serialHex,
    firmwareId: firmware.firmwareId,
  }
}

/** NVIDIA vouches for the name, provided that the chain above the device's certificate is pinned. */
export function readModel(identity: Certificate): Pick<Device, 'architecture' | 'chip' | 'model'> {
  const model = identity.commonName ?? ''
  const chip = model.split(' ', 1)[0] ?? ''
  return { architecture: nameArchitecture(chip), chip, model }
}

/** The report must be signed by the leaf; the signature covers every byte before it. */
export async function requireReportSignature(
  report: SpdmReport,
  device: Device,
  transcript: Transcript,
): Promise<void> {
  const [leaf] = device.chain
  const algorithm = { kind: 'ecdsa', hash: 'SHA-384', encoding: 'raw' } as const
  transcript.require(
    await verifySignature(leaf.spki, algorithm, report.signedPart, report.signature),
    'nvidia/report-signature',
    'signature_invalid',
    `report of ${report.signedPart.length} bytes must be signed by the device's certificate`,
  )
}

/** The running firmware must be what the boot ROM certified; old drivers omit it from reports. */
export function requireFirmwareId(
  reported: Uint8Array | undefined,
  device: Device,
  transcript: Transcript,
): void {
  const id = 'nvidia/firmware-id'
  if (reported === undefined) {
    transcript.skip(id, 'the report names no firmware; the certificate alone does')
    return
  }
  const certified = formatHex(device.firmwareId)
  transcript.require(
    equalBytes(reported, device.firmwareId),
    id,
    'chain_mismatch',
    `report names firmware ${formatHex(reported)}, certificate ${certified}`,
  )
}

function requireAttestationLeaf(
  leaf: Certificate,
  identity: Certificate,
  firmware: FirmwareIdentity,
  transcript: Transcript,
): void {
  transcript.require(
    !leaf.isCa && leaf.keyUsage?.has('digitalSignature') === true,
    'nvidia/leaf',
    'chain_mismatch',
    `${describe(leaf)} must be for digital signatures and not an authority`,
  )
  if (firmware.deviceKey) {
    transcript.require(
      equalBytes(firmware.deviceKey, identity.spki),
      'nvidia/leaf-device-key',
      'chain_mismatch',
      'the device key inside the leaf must be the key that signed it',
    )
  }
  transcript.require(
    !firmware.unsafe,
    'nvidia/leaf-flags',
    'debug_enabled',
    'firmware must not be certified as insecure, in recovery or in debug',
  )
}

function nameArchitecture(chip: string): NvidiaArchitecture {
  if (/^GH1/.test(chip)) return 'hopper'
  if (/^GB[12]/.test(chip)) return 'blackwell'
  if (chip === 'LS_10') return 'ls10'
  throw new AttestationError('evidence_unsupported', `chip "${chip}" is not known`)
}
