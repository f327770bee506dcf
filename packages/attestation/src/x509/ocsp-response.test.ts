import { expect, test } from 'bun:test'
import { issueRoot } from '../testing/test-authority.ts'
import { makeKey } from '../testing/test-key.ts'
import { hasVectors, readVector } from '../testing/vectors.ts'
import { parseCertificate } from './certificate.ts'
import { readRevocationStatus } from './ocsp.ts'
import { parseOcspResponse } from './ocsp-response.ts'
import { verifySignature } from './signature.ts'

const vectorTest = test.skipIf(!hasVectors)
const read = (name: string) => readVector(`ocsp/pyca/${name}.der`)
const firstAnswer = (name: string) => {
  const response = parseOcspResponse(read(name))
  if (response.kind !== 'basic') throw new Error(`${name} is ${response.status}`)
  return response.answers[0]!
}

vectorTest('a real good answer reads with its window', () => {
  expect(firstAnswer('resp-sha256')).toMatchObject({
    certId: { hash: 'SHA-1', serialHex: '031c787a7dc90295007bc5f2220b3b527af0' },
    status: { kind: 'good' },
    thisUpdate: new Date('2018-08-30T11:00:00Z'),
    nextUpdate: new Date('2018-09-06T11:00:00Z'),
  })
})

vectorTest('real revoked answers read with their times and reasons', () => {
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

vectorTest('a real answer of a responder that does not know the certificate reads as such', () => {
  expect(firstAnswer('resp-delegate-unknown-cert').status).toEqual({ kind: 'unknown' })
})

vectorTest('the delegated responders inside real answers signed them', async () => {
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

vectorTest('responder errors are read as errors', () => {
  expect(parseOcspResponse(read('resp-unauthorized'))).toEqual({
    kind: 'error',
    status: 'unauthorized',
  })
  expect(parseOcspResponse(read('resp-unknown-response-status')).kind).toBe('error')
})

vectorTest.each([
  'resp-invalid-version',
  'resp-successful-no-response-bytes',
  'resp-response-type-unknown-oid',
])('%s is refused by the parser', (name) => {
  expect(() => parseOcspResponse(read(name))).toThrow(
    expect.objectContaining({ code: 'evidence_malformed' }),
  )
})

vectorTest('a signature or hash algorithm we do not know is read but usable for nothing', () => {
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

vectorTest('no real answer is good for a certificate of an issuer of ours', async () => {
  const root = { name: "Let's Encrypt Authority X3", key: await makeKey('p256') }
  const issuer = parseCertificate(await issueRoot(root))
  for (const name of allResponses) {
    const certificate = { ...issuer, serialHex: '031c787a7dc90295007bc5f2220b3b527af0' }
    const at = new Date('2018-09-01T14:00:00Z')
    const status = await readRevocationStatus([read(name)], certificate, issuer, at)
    expect([name, status.kind]).toEqual([name, 'unknown'])
  }
})
