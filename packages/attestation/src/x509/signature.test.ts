import { expect, test } from 'bun:test'
import { type Bytes, utf8 } from '../bytes.ts'
import { parseDer } from '../der/der-reader.ts'
import {
  element,
  explicit,
  integer,
  nullValue,
  objectIdentifier,
  sequence,
} from '../der/der-writer.ts'
import { type KeyKind, makeKey } from '../testing/test-key.ts'
import { readSignatureAlgorithm, type SignatureAlgorithm, verifySignature } from './signature.ts'

const data = utf8('signed text')
const kinds: KeyKind[] = ['p256', 'p384', 'rsa-pss', 'rsa-pkcs1']
const parseAlgorithm = (der: Bytes) => parseDer(der, readSignatureAlgorithm)

test.each(kinds)('a %s signature verifies, and no other does', async (kind) => {
  const key = await makeKey(kind)
  const other = await makeKey(kind)
  const algorithm = parseAlgorithm(key.algorithm)
  const signature = await key.sign(data)
  expect(await verifySignature(key.spki, algorithm, data, signature)).toBe(true)
  expect(await verifySignature(other.spki, algorithm, data, signature)).toBe(false)
  expect(await verifySignature(key.spki, algorithm, utf8('signed texu'), signature)).toBe(false)
  for (const at of [0, 1, 5, signature.length - 1]) {
    const flipped = Uint8Array.from(signature)
    flipped[at]! ^= 1
    expect(await verifySignature(key.spki, algorithm, data, flipped)).toBe(false)
  }
  const longer = Uint8Array.from([...signature, 0])
  expect(await verifySignature(key.spki, algorithm, data, longer)).toBe(false)
  expect(await verifySignature(key.spki, algorithm, data, new Uint8Array())).toBe(false)
})

test('a raw ecdsa signature verifies at its exact length only', async () => {
  const key = await makeKey('p384')
  const raw: SignatureAlgorithm = { kind: 'ecdsa', hash: 'SHA-384', encoding: 'raw' }
  const signature = await key.signRaw(data)
  expect(await verifySignature(key.spki, raw, data, signature)).toBe(true)
  expect(await verifySignature(key.spki, raw, data, signature.subarray(1))).toBe(false)
  expect(await verifySignature(key.spki, raw, data, await key.sign(data))).toBe(false)
})

test('a negative r, or an s that overflows into r, never verifies', async () => {
  const key = await makeKey('p256')
  const algorithm = parseAlgorithm(key.algorithm)
  let raw = await key.signRaw(data)
  while (raw[0]! < 0x80 || raw[31] === 0) raw = await key.signRaw(data)
  const [r, s] = [raw.subarray(0, 32), raw.subarray(32)]
  const good = sequence(integer(r), integer(s))
  expect(await verifySignature(key.spki, algorithm, data, good)).toBe(true)
  const negative = sequence(element(0x02, r), integer(s))
  expect(await verifySignature(key.spki, algorithm, data, negative)).toBe(false)
  const long = sequence(integer(r), integer(raw.subarray(31)))
  expect(await verifySignature(key.spki, algorithm, data, long)).toBe(false)
})

test('a key that does not match the algorithm never verifies and does not throw', async () => {
  const rsa = await makeKey('rsa-pss')
  const ec = await makeKey('p256')
  const ecdsa = parseAlgorithm(ec.algorithm)
  const pss = parseAlgorithm(rsa.algorithm)
  expect(await verifySignature(rsa.spki, ecdsa, data, await ec.sign(data))).toBe(false)
  expect(await verifySignature(ec.spki, pss, data, await rsa.sign(data))).toBe(false)
  expect(await verifySignature(new Uint8Array(3), pss, data, await rsa.sign(data))).toBe(false)
})

test('a key for key agreement, or on another curve, never verifies', async () => {
  const key = await makeKey('p256')
  const raw: SignatureAlgorithm = { kind: 'ecdsa', hash: 'SHA-256', encoding: 'raw' }
  const point = key.spki.subarray(-68) // the BIT STRING: tag, length, unused bits, 65 octets
  const spkiOf = (kind: string, curve: string) =>
    sequence(sequence(objectIdentifier(kind), objectIdentifier(curve)), point)
  const signature = await key.signRaw(data)
  const verifies = (kind: string, curve: string) =>
    verifySignature(spkiOf(kind, curve), raw, data, signature)
  expect(await verifies('1.2.840.10045.2.1', '1.2.840.10045.3.1.7')).toBe(true)
  expect(await verifies('1.3.132.1.12', '1.2.840.10045.3.1.7')).toBe(false)
  expect(await verifies('1.2.840.10045.2.1', '1.3.132.0.34')).toBe(false)
  expect(await verifies('1.2.840.10045.2.1', '1.3.132.0.10')).toBe(false)
})

test('a signature with an unsupported algorithm never verifies', async () => {
  const algorithm = parseAlgorithm(sequence(objectIdentifier('1.2.840.113549.1.1.5'), nullValue()))
  expect(algorithm).toEqual({ kind: 'unsupported', oid: '1.2.840.113549.1.1.5' })
  const key = await makeKey('rsa-pkcs1')
  expect(await verifySignature(key.spki, algorithm, data, await key.sign(data))).toBe(false)
})

test('an RSA key under 2048 bits never verifies', async () => {
  const parameters = {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    modulusLength: 1024,
    publicExponent: Uint8Array.of(1, 0, 1),
  }
  const pair = await crypto.subtle.generateKey(parameters, true, ['sign', 'verify'])
  const spki = new Uint8Array(await crypto.subtle.exportKey('spki', pair.publicKey))
  const signature = await crypto.subtle.sign('RSASSA-PKCS1-v1_5', pair.privateKey, data)
  const algorithm: SignatureAlgorithm = { kind: 'rsa-pkcs1', hash: 'SHA-256' }
  expect(await verifySignature(spki, algorithm, data, new Uint8Array(signature))).toBe(false)
})

const hash = (last: number) =>
  sequence(objectIdentifier(`2.16.840.1.101.3.4.2.${last}`), nullValue())
const mask = (inner: Uint8Array, mgf = '1.2.840.113549.1.1.8') =>
  sequence(objectIdentifier(mgf), inner)
const pss = (...parameters: Uint8Array[]) =>
  parseAlgorithm(sequence(objectIdentifier('1.2.840.113549.1.1.10'), sequence(...parameters)))

test('rsa-pss parameters are read, with or without the default trailer', () => {
  const parameters = [explicit(0, hash(2)), explicit(1, mask(hash(2))), explicit(2, integer(48))]
  const expected: SignatureAlgorithm = { kind: 'rsa-pss', hash: 'SHA-384', saltLength: 48 }
  expect(pss(...parameters)).toEqual(expected)
  expect(pss(...parameters, explicit(3, integer(1)))).toEqual(expected)
})

test.each<[string, Uint8Array[]]>([
  ['the defaults, which are SHA-1', []],
  [
    'a mask of another hash',
    [explicit(0, hash(2)), explicit(1, mask(hash(1))), explicit(2, integer(48))],
  ],
  [
    'another mask function',
    [explicit(0, hash(2)), explicit(1, mask(hash(2), '1.2.3')), explicit(2, integer(48))],
  ],
  ['a short salt', [explicit(0, hash(2)), explicit(1, mask(hash(2))), explicit(2, integer(20))]],
  ['the default salt length', [explicit(0, hash(2)), explicit(1, mask(hash(2)))]],
  ['an unknown hash', [explicit(0, hash(8)), explicit(1, mask(hash(8))), explicit(2, integer(48))]],
  [
    'another trailer',
    [
      explicit(0, hash(2)),
      explicit(1, mask(hash(2))),
      explicit(2, integer(48)),
      explicit(3, integer(2)),
    ],
  ],
])('rsa-pss with %s is unsupported', (_, parameters) => {
  expect(pss(...parameters).kind).toBe('unsupported')
})

test('parameters that must be absent are refused', () => {
  expect(() =>
    parseAlgorithm(sequence(objectIdentifier('1.2.840.10045.4.3.3'), nullValue())),
  ).toThrow()
  expect(() =>
    parseAlgorithm(sequence(objectIdentifier('1.2.840.113549.1.1.11'), integer(1))),
  ).toThrow()
})
