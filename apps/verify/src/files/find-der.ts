/** Tells what DER is: certificate, revocation list or OCSP answer; also several one after another. */
import { parseCertificate, parseCrl, parseOcspResponse } from '@privatemode/attestation/inspect'
import type { Bytes, Piece } from './piece.ts'

/** Pieces where `bytes` is DER values and nothing else; undefined otherwise. */
export function readDer(bytes: Bytes): Piece[] | undefined {
  const pieces: Piece[] = []
  let rest = bytes
  while (rest.length > 0) {
    const length = derLength(rest)
    const piece = length === undefined ? undefined : classifyDer(rest.slice(0, length))
    if (piece === undefined) return undefined
    pieces.push(piece)
    rest = rest.slice(length)
  }
  return pieces.length > 0 ? pieces : undefined
}

/** Certificates that lie somewhere in a blob, such as the certificate table beside an SNP report. */
export function findCertificates(bytes: Bytes): Piece[] {
  const found: Piece[] = []
  for (let offset = 0; offset + 8 <= bytes.length; offset += 1) {
    // SEQUENCE of two length octets that begins with a SEQUENCE of two length octets.
    if (bytes[offset] !== 0x30 || bytes[offset + 1] !== 0x82) continue
    if (bytes[offset + 4] !== 0x30 || bytes[offset + 5] !== 0x82) continue
    const length = derLength(bytes.subarray(offset))
    if (length === undefined) continue
    const piece = classifyDer(bytes.slice(offset, offset + length))
    if (piece === undefined) continue
    found.push(piece)
    offset += length - 1
  }
  return found
}

function classifyDer(bytes: Bytes): Piece | undefined {
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

/** Octets of the SEQUENCE that `bytes` begins with. */
function derLength(bytes: Uint8Array): number | undefined {
  const [tag, first = 0] = bytes
  if (tag !== 0x30) return undefined
  if (first < 0x80) return 2 + first
  const count = first & 0x7f
  if (count < 1 || count > 3) return undefined
  const length = bytes.subarray(2, 2 + count).reduce((sum, octet) => sum * 256 + octet, 0)
  return 2 + count + length <= bytes.length ? 2 + count + length : undefined
}
