/** Parses an SEV-SNP attestation report (SNP ABI, ATTESTATION_REPORT) of version 2, 3 or 5. */
import { type Bytes, isZero } from '../bytes.ts'
import { AttestationError } from '../verdict.ts'

export type SnpSigner = 'vcek' | 'vlek'
export type FirmwareVersion = {
  readonly major: number
  readonly minor: number
  readonly build: number
}

export type SnpReport = {
  readonly version: number
  readonly guestSvn: number
  readonly policy: bigint
  readonly familyId: Bytes
  readonly imageId: Bytes
  readonly vmpl: number
  readonly platformInfo: bigint
  readonly signer: SnpSigner
  readonly reportData: Bytes
  readonly measurement: Bytes
  readonly hostData: Bytes
  readonly idKeyDigest: Bytes
  readonly authorKeyDigest: Bytes
  readonly reportId: Bytes
  readonly reportIdMa: Bytes
  readonly currentTcb: Bytes
  readonly reportedTcb: Bytes
  readonly committedTcb: Bytes
  readonly launchTcb: Bytes
  /** Absent in version 2. */
  readonly cpu:
    | { readonly family: number; readonly model: number; readonly stepping: number }
    | undefined
  readonly chipId: Bytes
  readonly currentFirmware: FirmwareVersion
  readonly committedFirmware: FirmwareVersion
  /** Everything before the signature. */
  readonly signedPart: Bytes
  /** r ‖ s, big-endian, 48 bytes each. */
  readonly signature: Bytes
}

export const snpReportOctets = 1184
const signatureOffset = 0x2a0
const maskChipKeyBit = 0b10
// The order of the P-384 group (FIPS 186-4, D.1.2.4).
const p384Order = BigInt(
  '0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973',
)

/** Throws `evidence_malformed`, or `evidence_unsupported` for an unknown form. */
export function parseSnpReport(bytes: Bytes): SnpReport {
  if (bytes.length !== snpReportOctets) {
    malformed(`report has ${bytes.length} bytes, expected ${snpReportOctets}`)
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const u8 = (offset: number) => view.getUint8(offset)
  const u32 = (offset: number) => view.getUint32(offset, true)
  const u64 = (offset: number) => view.getBigUint64(offset, true)
  const at = (offset: number, length: number) => bytes.subarray(offset, offset + length)
  const firmware = (offset: number): FirmwareVersion => ({
    build: u8(offset),
    minor: u8(offset + 1),
    major: u8(offset + 2),
  })

  const version = u32(0x00)
  if (version !== 2 && version !== 3 && version !== 5) {
    unsupported(`report version is ${version}, expected 2, 3 or 5`)
  }
  refuseReserved(bytes, version)
  if (u32(0x34) !== 1) unsupported(`signature algorithm is ${u32(0x34)}, expected 1`)
  return {
    version,
    guestSvn: u32(0x04),
    policy: parsePolicy(u64(0x08)),
    familyId: at(0x10, 16),
    imageId: at(0x20, 16),
    vmpl: u32(0x30),
    currentTcb: at(0x38, 8),
    platformInfo: u64(0x40),
    signer: parseSigner(u32(0x48)),
    reportData: at(0x50, 64),
    measurement: at(0x90, 48),
    hostData: at(0xc0, 32),
    idKeyDigest: at(0xe0, 48),
    authorKeyDigest: at(0x110, 48),
    reportId: at(0x140, 32),
    reportIdMa: at(0x160, 32),
    reportedTcb: at(0x180, 8),
    cpu: version >= 3 ? { family: u8(0x188), model: u8(0x189), stepping: u8(0x18a) } : undefined,
    chipId: at(0x1a0, 64),
    committedTcb: at(0x1e0, 8),
    currentFirmware: firmware(0x1e8),
    committedFirmware: firmware(0x1ec),
    launchTcb: at(0x1f0, 8),
    signedPart: bytes.subarray(0, signatureOffset),
    signature: parseSignature(at(signatureOffset, 144)),
  }
}

function refuseReserved(bytes: Bytes, version: number): void {
  const ranges = [
    [0x4c, 0x50],
    [version >= 3 ? 0x18b : 0x188, 0x1a0],
    [0x1eb, 0x1ec],
    [0x1ef, 0x1f0],
    // Version 5 has two mitigation vectors here.
    [version >= 5 ? 0x208 : 0x1f8, signatureOffset],
    [signatureOffset + 144, snpReportOctets],
  ] as const
  for (const [start, end] of ranges) {
    if (isZero(bytes.subarray(start, end))) continue
    malformed(`reserved bytes 0x${start.toString(16)} to 0x${end.toString(16)} are not zero`)
  }
}

function parsePolicy(policy: bigint): bigint {
  if ((policy & (1n << 17n)) === 0n) malformed('policy bit 17, which is always one, is zero')
  return policy
}

function parseSigner(keyInfo: number): SnpSigner {
  if (keyInfo >>> 5 !== 0) malformed('reserved bits of the key information are set')
  // If this bit is set, the firmware omits the signature.
  if ((keyInfo & maskChipKeyBit) !== 0) unsupported('the chip key is masked: report is not signed')
  switch ((keyInfo >>> 2) & 0b111) {
    case 0:
      return 'vcek'
    case 1:
      return 'vlek'
    default:
      return unsupported(`signing key is ${(keyInfo >>> 2) & 0b111}, expected 0 or 1`)
  }
}

/** From two little-endian fields of 72 bytes to the big-endian r ‖ s of WebCrypto. */
function parseSignature(field: Bytes): Bytes {
  const raw = new Uint8Array(96)
  for (const [index, part] of [field.subarray(0, 72), field.subarray(72)].entries()) {
    if (!isZero(part.subarray(48))) malformed('a signature value is longer than 48 bytes')
    raw.set(part.slice(0, 48).reverse(), 48 * index)
    const value = part.slice(0, 48).reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
    if (value === 0n || value >= p384Order) {
      throw new AttestationError('signature_invalid', 'r or s is outside the group of P-384')
    }
  }
  return raw
}

function malformed(detail: string): never {
  throw new AttestationError('evidence_malformed', detail)
}

function unsupported(detail: string): never {
  throw new AttestationError('evidence_unsupported', detail)
}
