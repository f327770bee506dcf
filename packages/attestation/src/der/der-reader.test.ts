import { expect, test } from 'bun:test'
import { parseHex } from '../bytes.ts'
import { DerReader, parseDer, tags } from './der-reader.ts'

const read = <T>(hex: string, parse: (reader: DerReader) => T): T => parseDer(parseHex(hex)!, parse)
const malformed = { code: 'evidence_malformed' }

test('an object identifier reads as dotted decimal', () => {
  expect(read('06082a8648ce3d040303', (r) => r.readOid())).toBe('1.2.840.10045.4.3.3')
  expect(read('060a2b060104019c78010308', (r) => r.readOid())).toBe('1.3.6.1.4.1.3704.1.3.8')
  expect(read('0603883703', (r) => r.readOid())).toBe('2.999.3')
})

test('both forms of time read as the same moment', () => {
  const utc = read('170d3230313032323138323432305a', (r) => r.readTime())
  const generalized = read('180f32303230313032323138323432305a', (r) => r.readTime())
  expect(utc.toISOString()).toBe('2020-10-22T18:24:20.000Z')
  expect(generalized).toEqual(utc)
})

test('a two-digit year of 50 or more is in the twentieth century', () => {
  const time = read('170d3530303130313030303030305a', (r) => r.readTime())
  expect(time.getUTCFullYear()).toBe(1950)
})

test.each([
  ['an indefinite length', '30800000', (r: DerReader) => r.enter()],
  ['a length in long form that fits the short form', '04810141', (r: DerReader) => r.read()],
  ['a length with a leading zero', `04820080${'00'.repeat(128)}`, (r: DerReader) => r.read()],
  ['a length of four octets', '048400000001ff', (r: DerReader) => r.read()],
  ['an element longer than its container', '0405aabb', (r: DerReader) => r.read()],
  ['an end inside the header', '04', (r: DerReader) => r.read()],
  ['nothing at all', '', (r: DerReader) => r.read(tags.integer)],
  ['a tag number of more than one octet', '1f0100', (r: DerReader) => r.read()],
  ['another tag than expected', '040100', (r: DerReader) => r.read(tags.integer)],
  ['bytes after the value', '02010100', (r: DerReader) => r.readSmallInteger()],
  ['an empty integer', '0200', (r: DerReader) => r.readIntegerBytes()],
  ['a positive integer that is not minimal', '02020001', (r: DerReader) => r.readIntegerBytes()],
  ['a negative integer that is not minimal', '0202ff80', (r: DerReader) => r.readIntegerBytes()],
  ['a negative small integer', '0201ff', (r: DerReader) => r.readSmallInteger()],
  ['a boolean that is neither 00 nor ff', '010101', (r: DerReader) => r.readBoolean()],
  ['a null with content', '050100', (r: DerReader) => r.readNull()],
  ['a bit string with padding bits set', '03020101', (r: DerReader) => r.readBitString(false)],
  ['a bit string of partial octets', '03020100', (r: DerReader) => r.readBitString()],
  ['an empty bit string', '0300', (r: DerReader) => r.readBitString(false)],
  ['a bit string with eight unused bits', '03020800', (r: DerReader) => r.readBitString(false)],
  ['unused bits of no octet', '030101', (r: DerReader) => r.readBitString(false)],
  ['an empty object identifier', '0600', (r: DerReader) => r.readOid()],
  ['an object identifier of 65 octets', `0641${'01'.repeat(65)}`, (r: DerReader) => r.readOid()],
  ['an arc with leading zeros', '06032a8001', (r: DerReader) => r.readOid()],
  ['an arc that does not end', '06022a86', (r: DerReader) => r.readOid()],
  ['31 February', '170d3230303233313030303030305a', (r: DerReader) => r.readTime()],
  ['an hour of 25', '170d3230303232303235303030305a', (r: DerReader) => r.readTime()],
  ['a time with a sign in it', '170d323031303232313832342b305a', (r: DerReader) => r.readTime()],
  ['text that is a time', '0c0f32303230313032323138323432305a', (r: DerReader) => r.readTime()],
  ['a time without Z', '170c323030323230303030303030', (r: DerReader) => r.readTime()],
])('%s is refused', (_, hex, parse) => {
  expect(() => read(hex, parse)).toThrow(expect.objectContaining(malformed))
})

test('a length of no octets, or of more than three, is refused as such', () => {
  for (const hex of ['30800000', '048400000001ff']) {
    const reader = new DerReader(parseHex(hex)!)
    expect(() => reader.read()).toThrow('length is indefinite or too large')
  }
})

test('a null is consumed', () => {
  expect(() => read('0500', (r) => r.readNull())).not.toThrow()
})

test('an element longer than its container is refused where it is read', () => {
  expect(() => new DerReader(parseHex('0405aabb')!).read()).toThrow('longer than its container')
})

test('nesting beyond the bound is refused before the stack overflows', () => {
  let bytes = new Uint8Array([0x05, 0x00])
  for (let i = 0; i < 40; i++) bytes = new Uint8Array([0x30, bytes.length, ...bytes])
  const descend = (reader: DerReader) => {
    let inner = reader
    while (inner.peekTag() === tags.sequence) inner = inner.enter()
  }
  expect(() => parseDer(bytes, descend)).toThrow(expect.objectContaining(malformed))
})
