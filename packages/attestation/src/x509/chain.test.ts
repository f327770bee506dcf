import { expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import type { Bytes } from '../bytes.ts'
import {
  type CertificateRequest,
  issueCertificate,
  issueRoot,
  keyUsageBits,
  testNotAfter,
  testNotBefore,
  testNow,
} from '../testing/test-authority.ts'
import { makeKey } from '../testing/test-key.ts'
import { Transcript } from '../verdict.ts'
import { fingerprint, parseCertificate } from './certificate.ts'
import { type ChainTrust, verifyChain } from './chain.ts'

const root = { name: 'Root', key: await makeKey('p384') }
const middle = { name: 'Middle', key: await makeKey('rsa-pss') }
const leaf = { name: 'Leaf', key: await makeKey('p256') }
const signsCertificates = { ca: { pathLength: 0 }, keyUsage: keyUsageBits.keyCertSign }
const rootDer = await issueRoot(root)
const trust: ChainTrust = { rootFingerprints: [await fingerprint(rootDer)], at: testNow }

type Overrides = { leaf?: Partial<CertificateRequest>; middle?: Partial<CertificateRequest> }

async function makeChain(overrides: Overrides = {}): Promise<Bytes[]> {
  return [
    await issueCertificate({ subject: leaf, issuer: middle, ...overrides.leaf }),
    await issueCertificate({
      subject: middle,
      issuer: root,
      ...signsCertificates,
      ...overrides.middle,
    }),
    rootDer,
  ]
}

async function verify(ders: Bytes[], given: ChainTrust = trust): Promise<Transcript> {
  const transcript = new Transcript()
  await verifyChain(ders.map(parseCertificate), given, transcript, 'test')
  return transcript
}

test('a chain of mixed keys up to a pinned root passes every check', async () => {
  const { checks } = await verify(await makeChain())
  expect(checks.every((check) => check.result === 'passed')).toBe(true)
  expect(checks.map((check) => check.id)).toEqual([
    'test/root',
    ...[0, 1, 2].flatMap((index) =>
      ['extensions', 'validity', 'issuer', 'signature'].map((what) => `test/${index}/${what}`),
    ),
  ])
})

test('a root with the right name and another key is refused', async () => {
  const imposter = { name: 'Root', key: await makeKey('p384') }
  const [leafDer] = await makeChain()
  const middleDer = await issueCertificate({
    subject: middle,
    issuer: imposter,
    ...signsCertificates,
  })
  const chain = [leafDer!, middleDer, await issueRoot(imposter)]
  expect(await rejection(verify(chain))).toMatchObject({ code: 'chain_untrusted' })
})

test('a chain that does not end in its root is refused', async () => {
  const chain = await makeChain()
  expect(await rejection(verify(chain.slice(0, 2)))).toMatchObject({ code: 'chain_untrusted' })
})

test('a chain of one, none or too many certificates is refused', async () => {
  const mismatch = { code: 'chain_mismatch' }
  expect(await rejection(verify([]))).toMatchObject(mismatch)
  expect(await rejection(verify([rootDer]))).toMatchObject(mismatch)
  expect(await rejection(verify(Array(9).fill(rootDer)))).toMatchObject(mismatch)
})

test('a chain with a missing intermediate is refused', async () => {
  const [leafDer] = await makeChain()
  expect(await rejection(verify([leafDer!, rootDer]))).toMatchObject({ code: 'chain_mismatch' })
})

test('a certificate signed by a key other than its issuer’s is refused', async () => {
  const imposter = { name: 'Middle', key: await makeKey('rsa-pss') }
  const chain = await makeChain({ leaf: { issuer: imposter } })
  expect(await rejection(verify(chain))).toMatchObject({ code: 'signature_invalid' })
})

test('a leaf whose bytes changed after signing is refused', async () => {
  const [leafDer, ...rest] = await makeChain()
  const changed = Uint8Array.from(leafDer!)
  const name = new TextDecoder('latin1').decode(changed).indexOf('Leaf')
  changed[name] = 'l'.charCodeAt(0)
  expect(await rejection(verify([changed, ...rest]))).toMatchObject({ code: 'signature_invalid' })
})

test.each<[string, Overrides, string]>([
  ['is not a CA', { middle: { ca: false } }, 'chain_mismatch'],
  ['may not sign certificates', { middle: { keyUsage: keyUsageBits.cRLSign } }, 'chain_mismatch'],
  ['expired', { middle: { notAfter: new Date('2025-12-31') } }, 'certificate_expired'],
  ['is not valid yet', { middle: { notBefore: new Date('2026-01-02') } }, 'certificate_expired'],
  [
    'has an unknown critical extension',
    { middle: { extensions: [{ oid: '2.5.29.30', critical: true, value: new Uint8Array() }] } },
    'chain_mismatch',
  ],
])('an intermediate that %s is refused', async (_, overrides, code) => {
  expect(await rejection(verify(await makeChain(overrides)))).toMatchObject({ code })
})

test.each<[string, Overrides, string]>([
  ['expired', { leaf: { notAfter: new Date('2025-12-31') } }, 'certificate_expired'],
  [
    'has an unknown critical extension',
    { leaf: { extensions: [{ oid: '1.2.3', critical: true, value: new Uint8Array() }] } },
    'chain_mismatch',
  ],
])('a leaf that %s is refused', async (_, overrides, code) => {
  expect(await rejection(verify(await makeChain(overrides)))).toMatchObject({ code })
})

test('a critical extension that the caller evaluates itself is accepted', async () => {
  const extensions = [{ oid: '1.2.3', critical: true, value: new Uint8Array() }]
  const chain = await makeChain({ leaf: { extensions } })
  await verify(chain, { ...trust, handledCriticalExtensions: ['1.2.3'] })
})

test('more intermediates than a path length allows are refused', async () => {
  const lower = { name: 'Lower', key: await makeKey('p256') }
  const [, middleDer] = await makeChain()
  const lowerDer = await issueCertificate({ subject: lower, issuer: middle, ...signsCertificates })
  const leafDer = await issueCertificate({ subject: leaf, issuer: lower })
  const refused = verify([leafDer, lowerDer, middleDer!, rootDer])
  expect(await rejection(refused)).toMatchObject({ code: 'chain_mismatch' })
})

test('validity includes both ends, and an invalid time is never within it', async () => {
  const chain = await makeChain()
  await verify(chain, { ...trust, at: testNotBefore })
  await verify(chain, { ...trust, at: testNotAfter })
  const refused = verify(chain, { ...trust, at: new Date(Number.NaN) })
  expect(await rejection(refused)).toMatchObject({ code: 'certificate_expired' })
})
