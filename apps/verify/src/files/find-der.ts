/** Classifies DER: certificate, revocation list or OCSP response; also several in a row. */
import { parseCertificate, parseCrl, parseOcspResponse } from '@privatemode/attestation/inspect'
import type { FileLimits } from './file-limits.ts'
import type { Bytes, Piece } from './piece.ts'

/** Pieces if `bytes` consists only of DER values; undefined otherwise. */
export function readDer(bytes: Bytes, limits: FileLimits): Piece[] | undefined {
  const pieces: Piece[] = []
  for (let offset = 0; offset < bytes.length; ) {
    const length = derLength(bytes, offset)
    if (length === undefined) return undefined
    if (offset > 0) limits.decoded()
    const piece = classifyDer(bytes.slice(offset, offset + length), limits)
    if (piece === undefined) return undefined
    pieces.push(piece)
    offset += length
  }
  return pieces.length > 0 ? pieces : undefined
}

/** Certificates anywhere in a blob, such as the certificate table next to an SNP report. */
export function findCertificates(bytes: Bytes, limits: FileLimits): Piece[] {
  const found: Piece[] = []
  for (let offset = 0; offset + 8 <= bytes.length; offset += 1) {
    // A SEQUENCE with two length octets that begins with a SEQUENCE with two length octets.
    if (bytes[offset] !== 0x30 || bytes[offset + 1] !== 0x82) continue
    if (bytes[offset + 4] !== 0x30 || bytes[offset + 5] !== 0x82) continue
    const length = derLength(bytes, offset)
    const inner = derLength(bytes, offset + 4)
    // An inner length above the outer one is the usual false positive; skip it without copying or parsing.
    if (length === undefined || inner === undefined || 4 + inner > length) continue
    const piece = classifyDer(bytes.slice(offset, offset + length), limits)
    if (piece === undefined) continue
    found.push(piece)
    offset += length - 1
  }
  return found
}

function classifyDer(bytes: Bytes, limits: FileLimits): Piece | undefined {
  limits.parsed(bytes.length)
  if (parses(() => parseCertificate(bytes))) return { kind: 'certificate', bytes }
  if (parses(() => parseCrl(bytes))) return { kind: 'crl', bytes }
  if (parses(() => parseOcspResponse(bytes))) return { kind: 'ocsp', bytes }
  return undefined
}

function parses(parse: () => unknown): boolean {
  try {
    parse()
    return true
  } catch {
    return false
  }
}

/** Length of the SEQUENCE that begins at `offset`, if it is complete. */
function derLength(bytes: Uint8Array, offset: number): number | undefined {
  const first = bytes[offset + 1] ?? 0
  if (bytes[offset] !== 0x30) return undefined
  const count = first < 0x80 ? 0 : first & 0x7f
  if (first === 0x80 || count > 3) return undefined
  let length = count === 0 ? first : 0
  for (let at = offset + 2; at < offset + 2 + count; at += 1)
    length = length * 256 + (bytes[at] ?? 0)
  return offset + 2 + count + length <= bytes.length ? 2 + count + length : undefined
}
