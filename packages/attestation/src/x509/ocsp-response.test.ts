import { expect, test } from 'bun:test'
import type { Bytes } from '../bytes.ts'
import {
  element,
  generalizedTime,
  integer,
  objectIdentifier,
  octetString,
  sequence,
} from '../der/der-writer.ts'
import { issueRoot } from '../testing/test-authority.ts'
import { makeKey } from '../testing/test-key.ts'
import { answerStart, issueOcspResponse } from '../testing/test-ocsp.ts'
import { readVector } from '../testing/vectors.ts'
import { parseCertificate } from './certificate.ts'
import { readRevocationStatus } from './ocsp.ts'
import { parseOcspResponse } from './ocsp-response.ts'
import { verifySignature } from './signature.ts'

const none = new Uint8Array()
const authority = { name: 'Authority', key: await makeKey('p256') }
const root = await issueRoot(authority)

test('a response of more than 256 KiB is refused before it is parsed', () => {
  const tooLong = new Uint8Array(256 * 1024 + 1)
  expect(() => parseOcspResponse(tooLong)).toThrow('262145 bytes is too long')
  expect(() => parseOcspResponse(tooLong.subarray(1))).not.toThrow('too long')
})

test('a response with more than eight certificates is refused', async () => {
  const respond = (count: number) =>
    issueOcspResponse({ answers: [], signer: authority, certificates: Array(count).fill(root) })
  expect(parseOcspResponse(await respond(8))).toMatchObject({ kind: 'basic' })
  const tooMany = await respond(9)
  expect(() => parseOcspResponse(tooMany)).toThrow('too many certificates')
})

test('a response with more than 4096 answers is refused', async () => {
  // As small as an answer can be, so that the limit on bytes is not reached first.
  const hash = sequence(objectIdentifier('1.3.14.3.2.26'))
  const certId = sequence(hash, octetString(none), octetString(none), integer(1))
  const answer = sequence(certId, element(0x80), generalizedTime(answerStart))
  const respond = (count: number) =>
    issueOcspResponse({ answers: Array<Bytes>(count).fill(answer), signer: authority })
  expect(parseOcspResponse(await respond(4096))).toMatchObject({ kind: 'basic' })
  const tooMany = await respond(4097)
  expect(() => parseOcspResponse(tooMany)).toThrow('too many answers')
})

const read = (name: string) => readVector(`ocsp/pyca/${name}.der`)
const firstAnswer = (name: string) => {
  const response = parseOcspResponse(read(name))
  if (response.kind !== 'basic') throw new Error(`${name} is ${response.status}`)
  return response.answers[0]!
}

test('a real good answer is parsed with its window', () => {
  expect(firstAnswer('resp-sha256')).toMatchObject({
    certId: { hash: 'SHA-1', serialHex: '031c787a7dc90295007bc5f2220b3b527af0' },
    status: { kind: 'good' },
    thisUpdate: new Date('2018-08-30T11:00:00Z'),
    nextUpdate: new Date('2018-09-06T11:00:00Z'),
  })
})

test('real revoked answers are parsed with their times and reasons', () => {
  const revoked = (at: string, reason?: number) => ({
    kind: 'revoked' as const,
    at: new Date(at),
    reason,
  })
  expect(firstAnswer('resp-revoked').status).toEqual(revoked('2016-09-02T21:28:48Z'))
  expect(firstAnswer('resp-revoked-reason').status).toEqual(revoked('2018-06-27T12:30:01Z', 4))
  expect(firstAnswer('resp-responder-key-hash').status).toEqual(revoked('2018-09-01T04:11:54Z'))
  expect(firstAnswer('resp-revoked-no-next-update').nextUpdate).toBeUndefined()
})

test('a real "unknown" answer is parsed as such', () => {
  expect(firstAnswer('resp-delegate-unknown-cert').status).toEqual({ kind: 'unknown' })
})

test('the delegated responders inside real answers signed them', async () => {
  const names = ['resp-revoked-reason', 'resp-delegate-unknown-cert', 'resp-sct-extension']
  for (const name of names) {
    const response = parseOcspResponse(read(name))
    if (response.kind !== 'basic') throw new Error(name)
    const { tbs, signature, signatureAlgorithm, certificates } = response
    const { spki, extendedKeyUsage } = certificates[0]!
    expect(await verifySignature(spki, signatureAlgorithm, tbs, signature)).toBe(true)
    expect(extendedKeyUsage).toContain('1.3.6.1.5.5.7.3.9')
  }
})

test('responder errors are parsed as errors', () => {
  expect(parseOcspResponse(read('resp-unauthorized'))).toEqual({
    kind: 'error',
    status: 'unauthorized',
  })
  expect(parseOcspResponse(read('resp-unknown-response-status')).kind).toBe('error')
})

test.each([
  'resp-invalid-version',
  'resp-successful-no-response-bytes',
  'resp-response-type-unknown-oid',
])('%s is refused by the parser', (name) => {
  expect(() => parseOcspResponse(read(name))).toThrow(
    expect.objectContaining({ code: 'evidence_malformed' }),
  )
})

test('an unknown signature or hash algorithm is parsed but unusable', () => {
  const response = parseOcspResponse(read('resp-invalid-signature-oid'))
  expect(response).toMatchObject({ signatureAlgorithm: { kind: 'unsupported' } })
  expect(firstAnswer('resp-unknown-hash-alg').certId.hash).toBeUndefined()
})

const allResponses = [
  'ocsp-army.deps.mil-resp',
  'resp-delegate-unknown-cert',
  'resp-invalid-signature-oid',
  'resp-invalid-version',
  'resp-responder-key-hash',
  'resp-response-type-unknown-oid',
  'resp-revoked-no-next-update',
  'resp-revoked-reason',
  'resp-revoked',
  'resp-sct-extension',
  'resp-sha256',
  'resp-single-extension-reason',
  'resp-successful-no-response-bytes',
  'resp-unauthorized',
  'resp-unknown-extension',
  'resp-unknown-hash-alg',
  'resp-unknown-response-status',
]

test('no real answer is good for a certificate of a test issuer', async () => {
  const imitated = { name: "Let's Encrypt Authority X3", key: await makeKey('p256') }
  const issuer = parseCertificate(await issueRoot(imitated))
  for (const name of allResponses) {
    const certificate = { ...issuer, serialHex: '031c787a7dc90295007bc5f2220b3b527af0' }
    const at = new Date('2018-09-01T14:00:00Z')
    const status = await readRevocationStatus([read(name)], certificate, issuer, at)
    expect([name, status.kind]).toEqual([name, 'unknown'])
  }
})
