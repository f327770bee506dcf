import { expect, test } from 'bun:test'
import { thrown } from '../../../../test/rejection.ts'
import type { Bytes } from '../bytes.ts'
import { element, enumerated, objectIdentifier, sequence } from '../der/der-writer.ts'
import {
  type CertificateRequest,
  issueCertificate,
  issueRoot,
  keyUsageBits,
  testNow,
} from '../testing/test-authority.ts'
import { makeKey } from '../testing/test-key.ts'
import {
  answerEnd,
  answerStart,
  issueOcspResponse,
  type OcspRequest,
  type TestAnswer,
} from '../testing/test-ocsp.ts'
import { Transcript } from '../verdict.ts'
import { parseCertificate } from './certificate.ts'
import { judgeRevocation, readRevocationStatus, requireNotRevoked } from './ocsp.ts'

const authority = { name: 'Authority', key: await makeKey('p384') }
const issuer = parseCertificate(await issueRoot(authority))
const member = { name: 'Member', key: await makeKey('p384') }
const certificate = parseCertificate(
  await issueCertificate({ subject: member, issuer: authority, serial: 0x1234 }),
)
const responder = { name: 'Responder', key: await makeKey('rsa-pkcs1') }
const ocspSigning = { oid: '2.5.29.37', value: sequence(objectIdentifier('1.3.6.1.5.5.7.3.9')) }
const revokedAt = new Date('2026-01-01T06:00:00Z')

const respond = (answer: Partial<TestAnswer> = {}, request: Partial<OcspRequest> = {}) =>
  issueOcspResponse({
    answers: [{ certificate, issuer, ...answer }],
    signer: authority,
    ...request,
  })

const statusOf = (responses: Bytes[], at = testNow) =>
  readRevocationStatus(responses, certificate, issuer, at)

async function delegated(overrides: Partial<CertificateRequest> = {}): Promise<Bytes> {
  const der = await issueCertificate({
    subject: responder,
    issuer: authority,
    keyUsage: keyUsageBits.digitalSignature,
    extensions: [ocspSigning],
    ...overrides,
  })
  return respond({}, { signer: responder, certificates: [der] })
}

test('a fresh answer signed by the issuer is good, by name or by key, for every hash', async () => {
  for (const responderBy of ['name', 'key'] as const) {
    for (const hash of ['SHA-1', 'SHA-256', 'SHA-384'] as const) {
      const response = await respond({ hash }, { responderBy })
      expect(await statusOf([response])).toEqual({ kind: 'good' })
    }
  }
})

test('an answer may state the default version explicitly', async () => {
  expect(await statusOf([await respond({}, { version: 0 })])).toEqual({ kind: 'good' })
})

test('a revoked certificate is revoked at the time the answer states', async () => {
  const response = await respond({ status: { revokedAt, reason: 6 } })
  expect(await statusOf([response])).toEqual({ kind: 'revoked', at: revokedAt, reason: 6 })
})

test('an answer from a delegated responder is accepted', async () => {
  expect(await statusOf([await delegated()])).toEqual({ kind: 'good' })
})

test.each<[string, Partial<CertificateRequest>]>([
  ['may not sign answers', { extensions: [] }],
  ['may not sign at all', { keyUsage: keyUsageBits.keyCertSign }],
  ['expired', { notAfter: new Date('2025-12-31') }],
  ['is not valid yet', { notBefore: new Date('2026-02-01') }],
  ['was issued by itself', { issuer: responder }],
  ['has the issuer by name only', { issuer: { name: 'Authority', key: responder.key } }],
  ['has it by key only', { issuer: { name: 'Other', key: authority.key } }],
  [
    'has an unknown critical extension',
    { extensions: [ocspSigning, { oid: '1.2.3', critical: true, value: new Uint8Array() }] },
  ],
])('an answer of a responder that %s is unknown', async (_, overrides) => {
  expect(await statusOf([await delegated(overrides)])).toMatchObject({ kind: 'unknown' })
})

test('an answer whose responder certificate is absent is unknown', async () => {
  const response = await respond({}, { signer: responder })
  expect(await statusOf([response])).toMatchObject({ kind: 'unknown' })
})

test('an answer signed by another key under the name of the issuer is unknown', async () => {
  const imposter = { name: 'Authority', key: await makeKey('p384') }
  const response = await respond({}, { signer: imposter, responderBy: 'name' })
  expect(await statusOf([response])).toMatchObject({ kind: 'unknown' })
})

test('an answer that names another responder than the one that signed is unknown', async () => {
  for (const responderBy of ['name', 'key'] as const) {
    const response = await respond({}, { responder, responderBy })
    expect(await statusOf([response])).toMatchObject({ kind: 'unknown' })
  }
})

test('an answer about another certificate, or of another issuer, is unknown', async () => {
  const other = { ...certificate, serialHex: '1235' }
  const otherIssuer = parseCertificate(await issueRoot({ name: 'Other', key: authority.key }))
  const otherKey = parseCertificate(await issueRoot({ ...authority, key: member.key }))
  for (const answer of [{ certificate: other }, { issuer: otherIssuer }, { issuer: otherKey }]) {
    expect(await statusOf([await respond(answer)])).toMatchObject({ kind: 'unknown' })
  }
})

test('an answer outside its window, or without an end, is unknown whatever it says', async () => {
  const early = new Date(answerStart.getTime() - 1000)
  const late = new Date(answerEnd.getTime() + 1000)
  for (const status of ['good', { revokedAt }] as const) {
    const response = await respond({ status })
    expect(await statusOf([response], early)).toMatchObject({ kind: 'unknown' })
    expect(await statusOf([response], late)).toMatchObject({ kind: 'unknown' })
    const endless = await respond({ status, nextUpdate: null })
    expect(await statusOf([endless])).toMatchObject({ kind: 'unknown' })
  }
})

test('no response, an error, garbage and anything but basic OCSP are unknown', async () => {
  const cases = [
    new Uint8Array(),
    new Uint8Array(300),
    sequence(enumerated(6)),
    sequence(enumerated(0)),
    (await respond()).subarray(0, 200),
    await respond({}, { version: 1 }),
    await respond({}, { responseType: '1.3.6.1.5.5.7.48.1.50000' }),
    await respond({}, { extensions: [{ oid: '1.2.3', critical: true, value: element(5) }] }),
    await respond({ extensions: [{ oid: '1.2.3', critical: true, value: element(5) }] }),
    await respond({ status: 'unknown' }),
  ]
  expect(await statusOf([])).toEqual({ kind: 'unknown', reason: 'no response' })
  for (const der of cases) expect(await statusOf([der])).toMatchObject({ kind: 'unknown' })
})

test('an internal error is thrown, not treated as an unknown that a policy may tolerate', async () => {
  const faulty = {
    ...issuer,
    get subject(): Bytes {
      throw new TypeError('a fault')
    },
  }
  const status = readRevocationStatus([await respond()], certificate, faulty, testNow)
  expect(await thrown(status)).toThrow('a fault')
})

test('every flipped bit of a good answer makes it unknown, never good', async () => {
  const response = await respond({}, { responderBy: 'name' })
  let flips = 0
  for (let bit = 0; bit < response.length * 8; bit += 3) {
    const flipped = Uint8Array.from(response)
    flipped[bit >> 3]! ^= 1 << (bit & 7)
    const status = await statusOf([flipped])
    expect([bit, status.kind]).toEqual([bit, 'unknown'])
    flips++
  }
  expect(flips).toBeGreaterThan(500)
})

test('one proven revoked answer outweighs good ones, and good outweighs unknown', async () => {
  const good = await respond()
  const revoked = await respond({ status: { revokedAt } })
  const stale = await respond({ nextUpdate: new Date('2026-01-01T01:00:00Z') })
  expect(await statusOf([good, revoked])).toMatchObject({ kind: 'revoked' })
  expect(await statusOf([stale, new Uint8Array(), good])).toEqual({ kind: 'good' })
})

const strict = { allowUnknown: false, revokedGraceHours: 0 }
const unknown = { kind: 'unknown', reason: 'no response' } as const
const revoked = { kind: 'revoked', at: revokedAt, reason: undefined } as const
const after = (hours: number) => new Date(revokedAt.getTime() + hours * 3_600_000)

test('unknown is accepted exactly when the policy allows it', () => {
  expect(judgeRevocation(unknown, strict, testNow)).toMatchObject({ code: 'revocation_unknown' })
  const allowed = { ...strict, allowUnknown: true }
  expect(judgeRevocation(unknown, allowed, testNow)).toMatchObject({
    accepted: true,
    tolerated: true,
  })
})

test('allowing unknown does not allow revoked', () => {
  const verdict = judgeRevocation(revoked, { ...strict, allowUnknown: true }, testNow)
  expect(verdict).toMatchObject({ accepted: false, code: 'certificate_revoked' })
})

test('revoked is accepted until the grace period ends, and not with a grace of zero', () => {
  const graced = { ...strict, revokedGraceHours: 48 }
  expect(judgeRevocation(revoked, graced, after(47.99)).accepted).toBe(true)
  expect(judgeRevocation(revoked, graced, after(48)).accepted).toBe(false)
  expect(judgeRevocation(revoked, strict, after(0)).accepted).toBe(false)
  expect(judgeRevocation(revoked, strict, after(-1)).accepted).toBe(false)
})

test('a grace period that is not a finite positive number, or an invalid time, accepts nothing', () => {
  for (const revokedGraceHours of [Number.NaN, Number.POSITIVE_INFINITY, -48]) {
    const verdict = judgeRevocation(revoked, { ...strict, revokedGraceHours }, after(0))
    expect(verdict.accepted).toBe(false)
  }
  const graced = { ...strict, revokedGraceHours: 48 }
  expect(judgeRevocation(revoked, graced, new Date(Number.NaN)).accepted).toBe(false)
})

test('a tolerated status is recorded as skipped, and only good as passed', () => {
  const transcript = new Transcript()
  const lenient = { allowUnknown: true, revokedGraceHours: 48 }
  requireNotRevoked({ kind: 'good' }, strict, testNow, transcript, 'good')
  requireNotRevoked(unknown, lenient, testNow, transcript, 'unknown')
  requireNotRevoked(revoked, lenient, after(1), transcript, 'revoked')
  expect(transcript.checks.map(({ result }) => result)).toEqual(['passed', 'skipped', 'skipped'])
  expect(() => requireNotRevoked(revoked, strict, after(1), transcript, 'refused')).toThrow(
    expect.objectContaining({ code: 'certificate_revoked' }),
  )
})
