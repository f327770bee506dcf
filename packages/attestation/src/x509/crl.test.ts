import { expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import type { Bytes } from '../bytes.ts'
import { enumerated, integer, sequence } from '../der/der-writer.ts'
import {
  type CrlRequest,
  issueCertificate,
  issueCrl,
  issueRoot,
  keyUsageBits,
  testNow,
} from '../testing/test-authority.ts'
import { makeKey } from '../testing/test-key.ts'
import { readVector, readVectorText } from '../testing/vectors.ts'
import { Transcript } from '../verdict.ts'
import { parseCertificate, parsePem } from './certificate.ts'
import { parseCrl, requireUnlisted, verifyCrl } from './crl.ts'

const issuer = { name: 'Root', key: await makeKey('rsa-pss') }
const root = parseCertificate(await issueRoot(issuer))
const member = parseCertificate(
  await issueCertificate({
    subject: { name: 'Member', key: await makeKey('p256') },
    issuer,
    serial: 0x0102,
  }),
)
const revokedAt = new Date('2025-05-05T05:05:05Z')

async function judge(der: Bytes | undefined, at = testNow, authority = root, subject = member) {
  const transcript = new Transcript()
  const crl = await verifyCrl(der, authority, at, transcript, 'test/crl')
  requireUnlisted(crl, subject, transcript, 'test/revocation')
  return transcript.checks.map((check) => check.result)
}

const judgeCrl = async (request: Partial<CrlRequest>, at = testNow) =>
  judge(await issueCrl({ issuer, ...request }), at)

test('a signed, current list that does not contain the certificate passes', async () => {
  expect(new Set(await judgeCrl({}))).toEqual(new Set(['passed']))
  await judgeCrl({ revoked: [{ serial: 0x0103, at: revokedAt }] })
})

test('a certificate in the list is revoked', async () => {
  const refused = judgeCrl({ revoked: [{ serial: 0x0102, at: revokedAt }] })
  expect(await rejection(refused)).toMatchObject({
    code: 'certificate_revoked',
    message: expect.stringContaining('2025-05-05T05:05:05'),
  })
})

test('a list number is parsed, and must be valid', async () => {
  const numbered = (value: Bytes) => issueCrl({ issuer, extensions: [{ oid: '2.5.29.20', value }] })
  expect(parseCrl(await numbered(integer(300))).number).toBe(300n)
  expect(parseCrl(await issueCrl({ issuer })).number).toBeUndefined()
  const negative = Uint8Array.of(2, 1, 0x80)
  const long = Uint8Array.of(2, 21, 1, ...new Uint8Array(20))
  for (const value of [negative, long, Uint8Array.of(4, 1, 1)]) {
    const der = await numbered(value)
    expect(() => parseCrl(der)).toThrow(expect.objectContaining({ code: 'crl_invalid' }))
  }
})

test('an absent list is reported as missing', async () => {
  expect(await rejection(judge(undefined))).toMatchObject({ code: 'crl_missing' })
})

test('an empty list file, garbage, and a truncated list are invalid', async () => {
  const good = await issueCrl({ issuer })
  const bad = [new Uint8Array(), new Uint8Array(500), good.subarray(0, good.length - 1)]
  for (const der of bad) expect(await rejection(judge(der))).toMatchObject({ code: 'crl_invalid' })
})

test('a list signed by another key under the same name is invalid', async () => {
  const imposter = { name: 'Root', key: await makeKey('rsa-pss') }
  const refused = judge(await issueCrl({ issuer: imposter }))
  expect(await rejection(refused)).toMatchObject({ code: 'crl_invalid' })
})

test('a list under another name is invalid even if the key is the same', async () => {
  const refused = judge(await issueCrl({ issuer: { ...issuer, name: 'Other' } }))
  expect(await rejection(refused)).toMatchObject({
    code: 'crl_invalid',
    message: expect.stringContaining('test/crl/issuer'),
  })
})

test('a list of another version, or with another algorithm in the signed part, is invalid', async () => {
  const invalid = { code: 'crl_invalid' }
  expect(await rejection(judgeCrl({ version: 0 }))).toMatchObject(invalid)
  expect(await rejection(judgeCrl({ version: 2 }))).toMatchObject(invalid)
  const { algorithm } = await makeKey('p384')
  expect(await rejection(judgeCrl({ innerAlgorithm: algorithm }))).toMatchObject(invalid)
})

test('a list outside its window, or without an end, is stale', async () => {
  const stale = { code: 'crl_stale' }
  const past = { thisUpdate: new Date('2025-01-01'), nextUpdate: new Date('2025-12-31') }
  expect(await rejection(judgeCrl(past))).toMatchObject(stale)
  expect(await rejection(judgeCrl({ thisUpdate: new Date('2026-06-01') }))).toMatchObject(stale)
  expect(await rejection(judgeCrl({ nextUpdate: null }))).toMatchObject(stale)
  expect(await rejection(judgeCrl({}, new Date(Number.NaN)))).toMatchObject(stale)
})

test('extensions that vendors add to a list and its entries are accepted', async () => {
  const number = { oid: '2.5.29.20', value: integer(7) }
  const reason = { oid: '2.5.29.21', critical: true, value: enumerated(1) }
  const revoked = [{ serial: 0x0103, at: revokedAt, extensions: [reason] }]
  expect(new Set(await judgeCrl({ extensions: [number], revoked }))).toEqual(new Set(['passed']))
})

test('an entry with an unknown critical extension makes the list invalid', async () => {
  const indirect = { oid: '2.5.29.29', critical: true, value: sequence() }
  const revoked = [{ serial: 0x0103, at: revokedAt, extensions: [indirect] }]
  expect(await rejection(judgeCrl({ revoked }))).toMatchObject({ code: 'crl_invalid' })
})

test('a delta list, or one for some certificates only, is invalid', async () => {
  for (const oid of ['2.5.29.27', '2.5.29.28']) {
    const extensions = [{ oid, critical: true, value: new Uint8Array() }]
    expect(await rejection(judgeCrl({ extensions }))).toMatchObject({ code: 'crl_invalid' })
  }
})

test('a list signed by a certificate that may not sign lists is invalid', async () => {
  const keyUsage = keyUsageBits.keyCertSign
  const other = parseCertificate(await issueCertificate({ subject: issuer, ca: {}, keyUsage }))
  const refused = judge(await issueCrl({ issuer }), testNow, other)
  expect(await rejection(refused)).toMatchObject({ code: 'crl_invalid' })
})

test('a list says nothing about certificates of another issuer', async () => {
  const other = { name: 'Other', key: issuer.key }
  const foreign = parseCertificate(await issueCertificate({ subject: other }))
  const refused = judge(await issueCrl({ issuer }), testNow, root, foreign)
  expect(await rejection(refused)).toMatchObject({ code: 'crl_invalid' })
})

test("AMD's Genoa list revokes one ASK and not its successor", async () => {
  const roots = parsePem(readVectorText('snp/amd-roots/ask_ark_genoa.pem')).map(parseCertificate)
  const [ask, ark] = [roots[0]!, roots[1]!]
  const crl = readVector('snp/openpcc-azure-genoa/genoa.crl.der')
  const at = new Date('2025-06-01')
  await judge(crl, at, ark, ask)
  const revoked = judge(crl, at, ark, { ...ask, serialHex: '020001' })
  expect(await rejection(revoked)).toMatchObject({ code: 'certificate_revoked' })
  const stale = judge(crl, new Date('2026-06-01'), ark, ask)
  expect(await rejection(stale)).toMatchObject({ code: 'crl_stale' })
  const [, milanArk] = parsePem(readVectorText('snp/amd-roots/ask_ark_milan.pem'))
  const swapped = judge(crl, at, parseCertificate(milanArk!), ask)
  expect(await rejection(swapped)).toMatchObject({ code: 'crl_invalid' })
})

test('a list of more than 4 MiB is refused before it is parsed', () => {
  const tooLong = new Uint8Array(4 * 1024 * 1024 + 1)
  expect(() => parseCrl(tooLong)).toThrow('revocation list: list is too long')
  expect(() => parseCrl(tooLong.subarray(1))).not.toThrow('too long')
})
