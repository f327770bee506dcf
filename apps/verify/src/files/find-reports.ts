/** Finds reports inside larger blobs: hypervisor envelopes, padded buffers, archives. */
import type { Bytes, Piece } from './piece.ts'

const snpBytes = 1184
const intelVendorId = Buffer.from('939a7233f79c4ca9940a0db3957f0607', 'hex')
const vendorIdOffset = 12
/** Header and body of the shortest kind, an SGX quote. */
const minQuoteBytes = 432
/** A quote is never longer; anything after it has no meaning. */
const maxQuoteBytes = 64 * 1024
const spdmRequest = Buffer.from('11e001ff', 'hex')

/** Per call; a file with more is refused as a whole. */
export const maxReports = 64

/** Checks every offset; findings are verified later like any other report. */
export function findReports(bytes: Bytes): Piece[] {
  return [...findSnp(bytes), ...findTdx(bytes), ...findNvidia(bytes)]
}

function findSnp(bytes: Bytes): Piece[] {
  if (bytes.length === snpBytes && readUint32(bytes, 0) <= 0xff) {
    return [{ kind: 'snp-report', bytes }]
  }
  const found: Piece[] = []
  for (let offset = 0; offset + snpBytes <= bytes.length; offset += 1) {
    // Check the version first: it rules out most offsets of a large file.
    if ((bytes[offset] ?? 0) < 2 || (bytes[offset] ?? 0) > 5 || bytes[offset + 1] !== 0) continue
    const candidate = bytes.subarray(offset, offset + snpBytes)
    if (!looksLikeSnp(candidate)) continue
    found.push({ kind: 'snp-report', bytes: new Uint8Array(candidate) })
    offset += snpBytes - 1
  }
  return found
}

/** Version, signature algorithm, the policy bit that is always one, and the fields that must be zero. */
function looksLikeSnp(report: Bytes): boolean {
  return (
    [2, 3, 4, 5].includes(readUint32(report, 0)) &&
    readUint32(report, 0x34) === 1 &&
    ((report[0x0a] ?? 0) & 2) !== 0 &&
    isZero(report, 0x2a0 + 48, 24) &&
    isZero(report, 0x2e8 + 48, 24) &&
    isZero(report, 0x330, 368)
  )
}

/** Every quote, including SGX: verification determines the TEE. */
function findTdx(bytes: Bytes): Piece[] {
  const blob = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const found: Piece[] = []
  let hit = blob.indexOf(intelVendorId)
  // One more than are verified is enough for the refusal, and limits the copies.
  while (hit >= 0 && found.length <= maxReports) {
    const at = hit - vendorIdOffset
    const isQuote = at >= 0 && [3, 4, 5].includes(blob.readUInt16LE(at))
    if (isQuote) found.push({ kind: 'tdx-quote', bytes: bytes.slice(at, at + maxQuoteBytes) })
    hit = blob.indexOf(intelVendorId, hit + (isQuote ? minQuoteBytes : 1))
  }
  return found
}

function findNvidia(bytes: Bytes): Piece[] {
  const isReport = Buffer.from(bytes.subarray(0, 4)).equals(spdmRequest)
  return isReport ? [{ kind: 'nvidia-report', bytes }] : []
}

function readUint32(bytes: Bytes, offset: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(offset, true)
}

function isZero(bytes: Bytes, offset: number, length: number): boolean {
  return bytes.subarray(offset, offset + length).every((byte) => byte === 0)
}
