/** Parses an SPDM 1.1 measurement report (DSP0274): the request a device saw and its signed response. */
import type { Bytes } from '../bytes.ts'
import { AttestationError } from '../verdict.ts'

export type SpdmReport = {
  /** The requester's nonce: ours, if the report is fresh. */
  readonly nonce: Bytes
  /** Digests by SPDM measurement index, 1 to 254. */
  readonly measurements: ReadonlyMap<number, Bytes>
  /** NVIDIA's fields of the opaque data, by type; {@link opaqueTypes} names those we read. */
  readonly opaque: ReadonlyMap<number, Bytes>
  /** Everything before the signature: what the device signed. */
  readonly signedPart: Bytes
  /** P-384, r ‖ s, big-endian. */
  readonly signature: Bytes
}

// Eight times the size of the largest report seen.
const maxReportBytes = 32 * 1024
const signatureBytes = 96

/** DSP0274 1.1, tables 39 and 40: GET_MEASUREMENTS (signature requested, all indexes) and its nonce. */
export function parseSpdmReport(bytes: Bytes): SpdmReport {
  if (bytes.length > maxReportBytes) malformed(`${bytes.length} bytes, at most ${maxReportBytes}`)
  const cursor = new Cursor(bytes)
  cursor.expect([0x11, 0xe0, 0x01, 0xff], 'request: GET_MEASUREMENTS of SPDM 1.1, signed, all')
  const nonce = cursor.take(32)
  cursor.expect([0x00], 'request: certificate slot')

  // Table 41: MEASUREMENTS. The two parameters have no block count here and name slot 0.
  cursor.expect([0x11, 0x60, 0x00, 0x00], 'response: MEASUREMENTS of SPDM 1.1, slot 0')
  const blockCount = cursor.uint(1)
  const record = cursor.take(cursor.uint(3))
  const measurements = parseMeasurements(record, blockCount)
  cursor.take(32) // the responder's nonce makes its signatures unique; it means nothing to us
  const opaque = parseOpaque(cursor.take(cursor.uint(2)))

  const signedPart = bytes.subarray(0, cursor.offset)
  const signature = cursor.take(signatureBytes)
  refuseTrailer(cursor.rest())
  return { nonce, measurements, opaque, signedPart, signature }
}

function parseMeasurements(record: Bytes, blockCount: number): Map<number, Bytes> {
  const cursor = new Cursor(record)
  const measurements = new Map<number, Bytes>()
  for (let block = 0; block < blockCount; block++) {
    const index = cursor.uint(1)
    if (index === 0 || index === 0xff) malformed(`measurement index ${index} is reserved`)
    if (measurements.has(index)) malformed(`measurement ${index} occurs twice`)
    cursor.expect([0x01], `measurement ${index}: DMTF specification`)
    const size = cursor.uint(2)
    // Bit 7 would mean a raw value instead of a digest; reference values are digests.
    const valueType = cursor.uint(1)
    if (valueType >= 0x80) malformed(`measurement ${index} is not a digest`)
    const valueSize = cursor.uint(2)
    if (size !== valueSize + 3) malformed(`measurement ${index}: sizes ${size} and ${valueSize}`)
    measurements.set(index, cursor.take(valueSize))
  }
  if (measurements.size === 0) malformed('no measurements')
  if (cursor.rest().length > 0) malformed('bytes after the last measurement')
  return measurements
}

/** NVIDIA's opaque data: type u16, size u16, value, repeated. */
function parseOpaque(data: Bytes): Map<number, Bytes> {
  const cursor = new Cursor(data)
  const fields = new Map<number, Bytes>()
  while (cursor.rest().length > 0) {
    const type = cursor.uint(2)
    if (fields.has(type)) malformed(`opaque field ${type} occurs twice`)
    fields.set(type, cursor.take(cursor.uint(2)))
  }
  return fields
}

/** One zero byte may follow: evidence passes through C strings, whose terminator some tools keep. */
function refuseTrailer(rest: Bytes): void {
  if (rest.length > 1 || (rest.length === 1 && rest[0] !== 0)) {
    malformed(`${rest.length} bytes after the signature`)
  }
}

/** Reads little-endian fields in order; input that ends inside a field is malformed. */
class Cursor {
  readonly #bytes: Bytes
  #offset = 0

  constructor(bytes: Bytes) {
    this.#bytes = bytes
  }

  get offset(): number {
    return this.#offset
  }

  take(length: number): Bytes {
    const end = this.#offset + length
    if (end > this.#bytes.length) malformed(`ends at ${this.#bytes.length}, expected ${end} bytes`)
    const part = this.#bytes.subarray(this.#offset, end)
    this.#offset = end
    return part
  }

  uint(length: number): number {
    return this.take(length).reduceRight((value, byte) => value * 256 + byte, 0)
  }

  expect(expected: readonly number[], what: string): void {
    const seen = this.take(expected.length)
    if (expected.some((byte, index) => byte !== seen[index])) malformed(`not a ${what}`)
  }

  rest(): Bytes {
    return this.#bytes.subarray(this.#offset)
  }
}

function malformed(detail: string): never {
  throw new AttestationError('evidence_malformed', `spdm report: ${detail}`)
}
