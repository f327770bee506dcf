/** Parses an Intel TDX quote, version 4 or 5, by the lengths it states (Intel DCAP, appendix A.3). */
import { type Bytes, formatHex } from '../bytes.ts'
import { AttestationError } from '../verdict.ts'

/** The TD report that a quote attests; byte strings are raw, in wire order. */
export type TdReport = {
  readonly teeTcbSvn: Bytes
  readonly mrSeam: Bytes
  readonly mrSignerSeam: Bytes
  readonly seamAttributes: Bytes
  readonly tdAttributes: Bytes
  readonly xfam: Bytes
  readonly mrTd: Bytes
  readonly mrConfigId: Bytes
  readonly mrOwner: Bytes
  readonly mrOwnerConfig: Bytes
  readonly rtmrs: readonly [Bytes, Bytes, Bytes, Bytes]
  readonly reportData: Bytes
  /** Body type 3 only: the module's current SVNs, after updates that kept the TD running. */
  readonly teeTcbSvn2?: Bytes
  /** Body type 3 only: the service TDs bound to this one; zero if there are none. */
  readonly mrServiceTd?: Bytes
}

/** The quoting enclave's own SGX report. */
export type QeReport = {
  /** What the PCK key signed. */
  readonly bytes: Bytes
  readonly miscSelect: Bytes
  readonly attributes: Bytes
  readonly mrEnclave: Bytes
  readonly mrSigner: Bytes
  readonly isvProdId: number
  readonly isvSvn: number
  readonly reportData: Bytes
}

export type TdxQuote = {
  readonly version: 4 | 5
  /** What the attestation key signed: header, version 5's body descriptor, and body. */
  readonly signedPart: Bytes
  readonly report: TdReport
  /** ECDSA P-256, r and s big-endian. */
  readonly signature: Bytes
  /** The point's x and y, without the leading 4. */
  readonly attestationKey: Bytes
  readonly qeReport: QeReport
  readonly qeReportSignature: Bytes
  readonly qeAuthData: Bytes
  /** The PCK certificate chain, as embedded in the quote. */
  readonly certificateChain: Bytes
  /** How many bytes followed the quote; they have no meaning and are not parsed. */
  readonly trailingBytes: number
}

/** Buffers in use are up to 8000 bytes; anything beyond this is not a quote. */
const maxQuoteBytes = 64 * 1024
const ecdsaP256 = 2
const teeSgx = 0
const teeTdx = 0x81
const intelVendorId = '939a7233f79c4ca9940a0db3957f0607'
const bodyBytes: { readonly [type: number]: number } = { 2: 584, 3: 648 }
const qeReportCertification = 6
const pckCertificateChain = 5

export function parseQuote(bytes: Uint8Array): TdxQuote {
  if (bytes.length > maxQuoteBytes) {
    refuse(`quote of ${bytes.length} bytes, expected at most ${maxQuoteBytes}`)
  }
  const reader = new Reader(bytes, 'quote')
  const { version, bodyType } = readHead(reader)
  const report = readTdReport(reader, bodyType)
  const signedPart = reader.upToHere()
  const signatureData = reader.part(reader.uint32('signature data length'), 'signature data')
  const trailingBytes = reader.remaining
  const signature = signatureData.take(64, 'signature')
  const attestationKey = signatureData.take(64, 'attestation key')
  const certification = readCertification(signatureData, qeReportCertification)
  const qeReport = readQeReport(certification.take(384, 'QE report'))
  const qeReportSignature = certification.take(64, 'QE report signature')
  const qeAuthData = certification.take(certification.uint16('QE auth length'), 'QE auth data')
  const pck = readCertification(certification, pckCertificateChain)
  const certificateChain = pck.take(pck.remaining, 'certificate chain')
  return {
    version,
    signedPart,
    report,
    signature,
    attestationKey,
    qeReport,
    qeReportSignature,
    qeAuthData,
    certificateChain,
    trailingBytes,
  }
}

function readHead(reader: Reader): { version: 4 | 5; bodyType: number } {
  const version = reader.uint16('version')
  if (version === 3) unsupported('quote of an SGX enclave (version 3), expected TDX')
  if (version !== 4 && version !== 5) unsupported(`quote version ${version}, expected 4 or 5`)
  const keyType = reader.uint16('attestation key type')
  if (keyType !== ecdsaP256) unsupported(`attestation key type ${keyType}, expected ${ecdsaP256}`)
  const tee = reader.uint32('TEE type')
  if (tee === teeSgx) unsupported(`quote of an SGX enclave (version ${version}), expected TDX`)
  if (tee !== teeTdx) unsupported(`TEE type 0x${tee.toString(16)}, expected 0x81 (TDX)`)
  reader.take(4, 'reserved')
  const vendor = formatHex(reader.take(16, 'QE vendor id'))
  if (vendor !== intelVendorId) unsupported(`QE vendor ${vendor}, expected Intel's`)
  reader.take(20, 'user data')
  if (version === 4) return { version, bodyType: 2 }
  const bodyType = reader.uint16('body type')
  const size = reader.uint32('body size')
  const expected = bodyBytes[bodyType]
  if (expected === undefined) unsupported(`quote body type ${bodyType}, expected 2 or 3`)
  if (size !== expected) refuse(`body type ${bodyType} of ${size} bytes, expected ${expected}`)
  return { version, bodyType }
}

function readTdReport(reader: Reader, bodyType: number): TdReport {
  const report: TdReport = {
    teeTcbSvn: reader.take(16, 'TEE_TCB_SVN'),
    mrSeam: reader.take(48, 'MRSEAM'),
    mrSignerSeam: reader.take(48, 'MRSIGNERSEAM'),
    seamAttributes: reader.take(8, 'SEAM attributes'),
    tdAttributes: reader.take(8, 'TD attributes'),
    xfam: reader.take(8, 'XFAM'),
    mrTd: reader.take(48, 'MRTD'),
    mrConfigId: reader.take(48, 'MRCONFIGID'),
    mrOwner: reader.take(48, 'MROWNER'),
    mrOwnerConfig: reader.take(48, 'MROWNERCONFIG'),
    rtmrs: [
      reader.take(48, 'RTMR0'),
      reader.take(48, 'RTMR1'),
      reader.take(48, 'RTMR2'),
      reader.take(48, 'RTMR3'),
    ],
    reportData: reader.take(64, 'REPORT_DATA'),
  }
  if (bodyType === 2) return report
  return {
    ...report,
    teeTcbSvn2: reader.take(16, 'TEE_TCB_SVN_2'),
    mrServiceTd: reader.take(48, 'MRSERVICETD'),
  }
}

function readQeReport(bytes: Bytes): QeReport {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return {
    bytes,
    miscSelect: bytes.subarray(16, 20),
    attributes: bytes.subarray(48, 64),
    mrEnclave: bytes.subarray(64, 96),
    mrSigner: bytes.subarray(128, 160),
    isvProdId: view.getUint16(256, true),
    isvSvn: view.getUint16(258, true),
    reportData: bytes.subarray(320, 384),
  }
}

/** Certification data must fill its container: every byte must be accounted for. */
function readCertification(reader: Reader, expected: number): Reader {
  const type = reader.uint16('certification type')
  if (type !== expected) unsupported(`certification data type ${type}, expected ${expected}`)
  const part = reader.part(reader.uint32('certification length'), `certification data ${type}`)
  if (reader.remaining !== 0) refuse(`${reader.remaining} bytes after certification data ${type}`)
  return part
}

class Reader {
  readonly #bytes: Bytes
  readonly #what: string
  #at = 0

  constructor(bytes: Uint8Array, what: string) {
    this.#bytes = new Uint8Array(bytes)
    this.#what = what
  }

  get remaining(): number {
    return this.#bytes.length - this.#at
  }

  upToHere(): Bytes {
    return this.#bytes.subarray(0, this.#at)
  }

  take(length: number, field: string): Bytes {
    if (length > this.remaining) {
      refuse(`${this.#what} ends inside ${field}: ${length} bytes needed, ${this.remaining} left`)
    }
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  part(length: number, what: string): Reader {
    return new Reader(this.take(length, what), what)
  }

  uint16(field: string): number {
    const [low = 0, high = 0] = this.take(2, field)
    return low | (high << 8)
  }

  uint32(field: string): number {
    const low = this.uint16(field)
    return low + this.uint16(field) * 0x10000
  }
}

function refuse(reason: string): never {
  throw new AttestationError('evidence_malformed', `tdx quote: ${reason}`)
}

function unsupported(reason: string): never {
  throw new AttestationError('evidence_unsupported', `tdx quote: ${reason}`)
}
