import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Bytes, concatBytes, formatHex } from '../bytes.ts'
import { type ReportParts, writeReport } from '../testing/spdm-writer.ts'
import { readVectorText } from '../testing/vectors.ts'
import { AttestationError } from '../verdict.ts'
import { parseSpdmReport } from './spdm-report.ts'

const nonce = new Uint8Array(32).fill(7)
const digest = (fill: number): Bytes => new Uint8Array(48).fill(fill)
const parts: ReportParts = {
  nonce,
  measurements: [
    { index: 1, value: digest(1) },
    { index: 2, value: digest(2) },
  ],
  opaque: [
    { type: 3, value: new TextEncoder().encode('550.90.07\0') },
    { type: 999, value: new Uint8Array(3) },
  ],
}
const signature = new Uint8Array(96).fill(9)
const whole = concatBytes(writeReport(parts), signature)
const malformed = expect.objectContaining({ code: 'evidence_malformed' })

test('a report parses into nonce, measurements, fields, signed part and signature', () => {
  const report = parseSpdmReport(whole)
  expect(report.nonce).toEqual(nonce)
  expect([...report.measurements.keys()]).toEqual([1, 2])
  expect(report.measurements.get(2)).toEqual(digest(2))
  expect([...report.opaque.keys()]).toEqual([3, 999])
  expect(report.signature).toEqual(signature)
  expect(concatBytes(report.signedPart, report.signature)).toEqual(whole)
})

test('one zero byte after the signature is a terminator, not part of it', () => {
  const report = parseSpdmReport(concatBytes(whole, Uint8Array.of(0)))
  expect(report.signature).toEqual(signature)
})

test.each([
  ['a byte other than zero', Uint8Array.of(1)],
  ['two zero bytes', Uint8Array.of(0, 0)],
])('%s after the signature is refused', (_, trailer) => {
  expect(() => parseSpdmReport(concatBytes(whole, trailer))).toThrow(malformed)
})

test('every truncation is refused', () => {
  for (let length = 0; length < whole.length; length++) {
    expect(() => parseSpdmReport(whole.subarray(0, length))).toThrow(malformed)
  }
})

test.each([
  ['another SPDM version in the request', 0],
  ['another request code', 1],
  ['a request without signature', 2],
  ['a request for one measurement', 3],
  ['another slot in the request', 36],
  ['another SPDM version in the response', 37],
  ['another response code', 38],
  ['a count in the first parameter', 39],
  ['another slot in the response', 40],
])('%s is refused', (_, offset) => {
  const changed = whole.slice()
  changed[offset] = changed[offset]! ^ 4
  expect(() => parseSpdmReport(changed)).toThrow(malformed)
})

const one = parts.measurements[0]!
test.each<[string, Partial<ReportParts>]>([
  ['no measurement', { measurements: [] }],
  ['a measurement twice', { measurements: [one, one] }],
  ['index 0', { measurements: [{ ...one, index: 0 }] }],
  ['index 255', { measurements: [{ ...one, index: 255 }] }],
  ['a measurement specification other than DMTF', { measurements: [{ ...one, spec: 2 }] }],
  ['a raw measurement', { measurements: [{ ...one, valueType: 0x81 }] }],
  ['sizes that contradict each other', { measurements: [{ ...one, size: 50 }] }],
  ['fewer blocks than it counts', { blockCount: 3 }],
  ['more blocks than it counts', { blockCount: 1 }],
  ['an opaque field twice', { opaque: [parts.opaque[0]!, parts.opaque[0]!] }],
  ['an opaque field past the end', { opaque: [{ ...parts.opaque[0]!, size: 40 }] }],
])('a report with %s is refused', (_, change) => {
  const report = concatBytes(writeReport({ ...parts, ...change }), signature)
  expect(() => parseSpdmReport(report)).toThrow(malformed)
})

test('a report beyond the size limit is refused, even if well formed', () => {
  const opaque = (length: number) => [{ type: 999, value: new Uint8Array(length) }]
  const sized = (length: number) =>
    parseSpdmReport(concatBytes(writeReport({ ...parts, opaque: opaque(length) }), signature))
  expect(sized(32_000).opaque.get(999)).toHaveLength(32_000)
  expect(() => sized(33_000)).toThrow(malformed)
})

test('any bytes parse or are refused with a typed error', () => {
  const seeds = fc.oneof(
    fc.uint8Array({ maxLength: 400 }),
    fc
      .tuple(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 }), fc.nat(whole.length))
      .map(([offset, value, length]) => {
        const changed = whole.slice(0, Math.max(length, offset))
        changed[offset] = value
        return changed
      }),
  )
  fc.assert(
    fc.property(seeds, (bytes) => {
      try {
        parseSpdmReport(bytes as Bytes)
      } catch (error) {
        expect(error).toBeInstanceOf(AttestationError)
      }
    }),
    { numRuns: 2000 },
  )
})

describe('real reports', () => {
  const read = (path: string): Bytes => Uint8Array.fromHex(readVectorText(`nvidia/${path}`).trim())

  test('of a GPU has 64 measurements and its fields', () => {
    const report = parseSpdmReport(read('attestation-sdk/gpu/hopperAttestationReport.txt'))
    expect(report.measurements.size).toBe(64)
    expect(formatHex(report.nonce)).toStartWith('27a32824')
    expect(new TextDecoder().decode(report.opaque.get(3))).toBe('535.86.09\0')
  })

  test('of a switch has 31 measurements', () => {
    const report = parseSpdmReport(read('attestation-sdk/switch/switchAttestationReport.txt'))
    expect(report.measurements.size).toBe(31)
    expect(new TextDecoder().decode(report.opaque.get(6))).toBe('96.10.55.00.01')
  })

  test('with a trailing byte has its signature right after the fields', () => {
    const bytes = read('coco/hopper_coco_report1.txt')
    const report = parseSpdmReport(bytes)
    expect(report.signedPart.length + report.signature.length).toBe(bytes.length - 1)
  })
})
