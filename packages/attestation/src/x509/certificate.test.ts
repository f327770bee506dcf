import { expect, test } from 'bun:test'
import { type Bytes, formatBase64, formatHex } from '../bytes.ts'
import { element, integer, sequence } from '../der/der-writer.ts'
import { issueCertificate, issueRoot, keyUsageBits, nameOf } from '../testing/test-authority.ts'
import { makeKey } from '../testing/test-key.ts'
import { fingerprint, parseCertificate, parsePem } from './certificate.ts'

const key = await makeKey('p256')
const subject = { name: 'Test Root', key }
const der = await issueCertificate({
  subject,
  serial: 0x8001,
  ca: { pathLength: 2 },
  keyUsage: keyUsageBits.keyCertSign | keyUsageBits.cRLSign,
  extensions: [
    { oid: '1.3.6.1.4.1.3704.1.4', value: Uint8Array.of(1, 2, 3) },
    { oid: '2.5.29.37', value: sequence(element(6, Uint8Array.of(43, 6, 1, 5, 5, 7, 3, 9))) },
  ],
})
const malformed = expect.objectContaining({ code: 'certificate_malformed' })
const pem = (bytes: Bytes, wrap = '\n') =>
  `-----BEGIN CERTIFICATE-----${wrap}${formatBase64(bytes)}${wrap}-----END CERTIFICATE-----\n`

test('every field of a certificate is read', async () => {
  const certificate = parseCertificate(der)
  expect(certificate.serialHex).toBe('008001')
  expect(certificate.commonName).toBe('Test Root')
  expect(certificate.subject).toEqual(nameOf('Test Root'))
  expect(certificate.issuer).toEqual(certificate.subject)
  expect(certificate.notBefore.toISOString()).toBe('2024-01-01T00:00:00.000Z')
  expect(certificate.notAfter.toISOString()).toBe('2034-01-01T00:00:00.000Z')
  expect(certificate.spki).toEqual(key.spki)
  expect(certificate.signatureAlgorithm).toEqual({
    kind: 'ecdsa',
    hash: 'SHA-256',
    encoding: 'der',
  })
  expect(certificate.isCa).toBe(true)
  expect(certificate.pathLength).toBe(2)
  expect([...certificate.keyUsage!]).toEqual(['keyCertSign', 'cRLSign'])
  expect(certificate.extendedKeyUsage).toEqual(['1.3.6.1.5.5.7.3.9'])
  const extension = certificate.extensions.get('1.3.6.1.4.1.3704.1.4')!
  expect(extension).toEqual({ critical: false, value: Uint8Array.of(1, 2, 3) })
})

test('a certificate without basic constraints is not a CA', async () => {
  const plain = parseCertificate(await issueCertificate({ subject }))
  expect(plain.isCa).toBe(false)
  expect(plain.keyUsage).toBeUndefined()
})

test('a certificate that is truncated, or followed by a byte, is refused', () => {
  expect(() => parseCertificate(der.subarray(0, der.length - 1))).toThrow(malformed)
  expect(() => parseCertificate(Uint8Array.from([...der, 0]))).toThrow(malformed)
  expect(() => parseCertificate(new Uint8Array())).toThrow(malformed)
})

test('a certificate of another version, or longer than any vendor’s, is refused', async () => {
  for (const version of [0, 1, 3]) {
    const other = await issueCertificate({ subject, version })
    expect(() => parseCertificate(other)).toThrow(malformed)
  }
  const extensions = [{ oid: '1.2.3', value: new Uint8Array(40_000) }]
  const long = await issueCertificate({ subject, extensions })
  expect(() => parseCertificate(long)).toThrow(malformed)
})

test('a duplicate extension is refused', async () => {
  const extension = { oid: '1.2.3', value: integer(1) }
  const twice = await issueCertificate({ subject, extensions: [extension, extension] })
  expect(() => parseCertificate(twice)).toThrow(malformed)
})

test('an algorithm outside the signed part that differs from the one inside is refused', () => {
  const changed = Uint8Array.from(der)
  // The outer identifier is the last occurrence of ecdsa-with-SHA256; make it SHA384.
  const at = formatHex(changed).lastIndexOf('06082a8648ce3d040302') / 2
  changed[at + 9] = 3
  expect(() => parseCertificate(changed)).toThrow(malformed)
})

test('pem text yields its certificates in order and ignores what is around them', async () => {
  const other = await issueRoot({ name: 'Other', key })
  const text = `Bag Attributes\n${pem(der, '\r\n')}\nsome text\n${pem(other)}`
  expect(parsePem(text)).toEqual([der, other])
})

test('pem text with no block, a broken block or too many is refused', () => {
  expect(() => parsePem('')).toThrow(malformed)
  expect(() => parsePem(`${pem(der)}-----BEGIN CERTIFICATE-----\nMII`)).toThrow(malformed)
  expect(() => parsePem(pem(der).replace('M', '*'))).toThrow(malformed)
  expect(() => parsePem(pem(der).replace(/\n-----END/, '=\n-----END'))).toThrow(malformed)
  expect(() => parsePem(pem(der).repeat(17))).toThrow(malformed)
})

test('pem text of more than 256 KiB is refused, whatever is in it', () => {
  const long = pem(der).padEnd(256 * 1024)
  expect(parsePem(long)).toEqual([der])
  expect(() => parsePem(`${long} `)).toThrow('pem text is too long')
})

test('a fingerprint is the SHA-256 of the whole certificate', async () => {
  expect(await fingerprint(Uint8Array.of())).toBe(
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  )
})
