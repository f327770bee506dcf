import { beforeAll, expect, test } from 'bun:test'
import { type Bytes, concatBytes, formatHex } from '../bytes.ts'
import { makeTestIntel, type TestIntel } from '../testing/test-intel.ts'
import { parseQuote } from './quote.ts'

let intel: TestIntel
let quote: Bytes

beforeAll(async () => {
  intel = await makeTestIntel()
  quote = await intel.makeQuote()
})

/** A copy with other bytes at `offset`. */
function patched(bytes: Uint8Array, offset: number, ...values: number[]): Bytes {
  const copy = new Uint8Array(bytes)
  copy.set(values, offset)
  return copy
}

const refusal = (bytes: Uint8Array) => {
  try {
    parseQuote(bytes)
  } catch (error) {
    return error
  }
  return undefined
}

test('every field of a version 4 quote is at its offset', () => {
  const { report, ...rest } = parseQuote(quote)
  expect(rest.version).toBe(4)
  expect(rest.signedPart).toEqual(quote.subarray(0, 48 + 584))
  expect(report.teeTcbSvn).toEqual(quote.subarray(48, 64))
  expect(report.mrSeam).toEqual(quote.subarray(64, 112))
  expect(report.mrSignerSeam).toEqual(quote.subarray(112, 160))
  expect(report.seamAttributes).toEqual(quote.subarray(160, 168))
  expect(report.tdAttributes).toEqual(quote.subarray(168, 176))
  expect(report.xfam).toEqual(quote.subarray(176, 184))
  expect(formatHex(report.mrTd)).toBe('70'.repeat(48))
  expect(formatHex(report.mrConfigId)).toBe('c1'.repeat(48))
  expect(formatHex(report.mrOwner)).toBe('c2'.repeat(48))
  expect(formatHex(report.mrOwnerConfig)).toBe('c3'.repeat(48))
  expect(report.rtmrs.map(formatHex)).toEqual(['10', '11', '12', '13'].map((b) => b.repeat(48)))
  expect(report.reportData).toEqual(quote.subarray(568, 632))
  expect(report.mrServiceTd).toBeUndefined()
  expect(rest.qeReport.isvProdId).toBe(2)
  expect(rest.qeReport.isvSvn).toBe(4)
  expect(formatHex(rest.qeReport.mrSigner)).toBe('dc'.repeat(32))
  expect(formatHex(rest.qeAuthData)).toBe('a0'.repeat(32))
})

test('a version 5 quote has its body type and size under the signature', async () => {
  const oldBody = parseQuote(await intel.makeQuote({ version: 5 }))
  expect(oldBody.signedPart.length).toBe(54 + 584)
  const bytes = await intel.makeQuote({ version: 5, bodyType: 3 })
  const newBody = parseQuote(bytes)
  expect(newBody.signedPart).toEqual(bytes.subarray(0, 54 + 648))
  expect(newBody.report.teeTcbSvn2).toEqual(newBody.report.teeTcbSvn)
  expect(newBody.report.mrServiceTd).toEqual(new Uint8Array(48))
})

test('bytes after the stated length are counted but not parsed', () => {
  const padded = parseQuote(concatBytes(quote, Uint8Array.of(1, 2, 3)))
  expect(padded.trailingBytes).toBe(3)
  expect({ ...padded, trailingBytes: 0 }).toEqual(parseQuote(quote))
})

test('a quote truncated anywhere is malformed', () => {
  for (let length = 0; length < quote.length; length += 1) {
    expect(refusal(quote.subarray(0, length))).toMatchObject({ code: 'evidence_malformed' })
  }
})

test.each([
  ['version 3', 0, [3]],
  ['version 6', 0, [6]],
  ['an attestation key that is not P-256', 2, [3]],
  ['an SGX quote', 4, [0]],
  ['another vendor of the quoting enclave', 12, [0]],
  ['certification data that is not a QE report', 764, [5]],
  ['a PCK certificate that is not a chain', 1252, [4]],
])('%s is not supported', (_, offset, values) => {
  expect(refusal(patched(quote, offset, ...values))).toMatchObject({ code: 'evidence_unsupported' })
})

test('a future version is not supported, even in the form of version 5', async () => {
  const bytes = await intel.makeQuote({ version: 5, bodyType: 3 })
  expect(refusal(patched(bytes, 0, 6))).toMatchObject({ code: 'evidence_unsupported' })
})

test('an unknown body type is not supported, and a wrong size is malformed', async () => {
  const bytes = await intel.makeQuote({ version: 5, bodyType: 3 })
  expect(refusal(patched(bytes, 48, 4))).toMatchObject({ code: 'evidence_unsupported' })
  expect(refusal(patched(bytes, 48, 2))).toMatchObject({ code: 'evidence_malformed' })
  expect(refusal(patched(bytes, 50, 0x89))).toMatchObject({ code: 'evidence_malformed' })
})

test('a length that leaves bytes unaccounted for is malformed', () => {
  const lengthOffset = 632
  const oneLess = quote[lengthOffset]! - 1
  expect(refusal(patched(quote, lengthOffset, oneLess))).toMatchObject({
    code: 'evidence_malformed',
  })
  const withRoom = concatBytes(quote, new Uint8Array(8))
  const oneMore = quote[lengthOffset]! + 1
  expect(refusal(patched(withRoom, lengthOffset, oneMore))).toMatchObject({
    code: 'evidence_malformed',
  })
})

test('a quote far beyond any real size is refused without parsing', () => {
  expect(refusal(new Uint8Array(64 * 1024 + 1))).toMatchObject({ code: 'evidence_malformed' })
})
