import { expect, test } from 'bun:test'
import { type Bytes, formatBase64 } from '../bytes.ts'
import { authenticate, refusalIn } from '../testing/snp-refusal.ts'
import { snpWorld, testCspId, testReportData, testTcb, wrapHwid } from '../testing/snp-world.ts'
import { issueCertificate, issueCrl, keyUsageBits } from '../testing/test-authority.ts'
import { makeKey } from '../testing/test-key.ts'
import { Transcript } from '../verdict.ts'
import { authenticateSnp } from './authenticate.ts'

const milan = await snpWorld('Milan')
const genoa = await snpWorld('Genoa')
const turin = await snpWorld('Turin')
const vlek = await snpWorld('Genoa', 'vlek')

const refused = refusalIn(genoa.context)

test.each([
  ['Milan, version 2', milan, { version: 2 }],
  ['Milan, version 3', milan, {}],
  ['Genoa, version 3', genoa, {}],
  ['Siena as Genoa', genoa, { model: 0xa0 }],
  ['Turin, version 5', turin, { version: 5 }],
  ['a VLEK', vlek, {}],
])('genuine evidence of %s passes every check', async (_, world, request) => {
  const transcript = new Transcript()
  const evidence = await world.attest(request)
  const claims = await authenticateSnp(evidence, world.context, transcript)
  expect(transcript.checks.filter((check) => check.result !== 'passed')).toEqual([])
  expect(claims.product).toBe(world.product)
  expect(claims.signer).toBe(world.signer)
  expect(claims.reportData).toEqual(testReportData)
  expect(claims.tcb.reported).toEqual(testTcb[world.product])
  expect(claims.policy).toEqual({ flags: ['smt'], unknownBits: [] })
  expect(claims.platform.flags).toEqual(['smt', 'ecc', 'alias_check_complete'])
  expect(claims.firmware.current).toEqual({ major: 1, minor: 55, build: 40 })
  expect(claims.cspId).toBe(world.signer === 'vlek' ? testCspId : undefined)
})

test('genuine evidence may have its certificates in any order, mixed with those of other products', async () => {
  const evidence = await genoa.attest()
  const { askDer, arkDer } = milan.authorities
  const certificates = [askDer, arkDer].map(formatBase64).concat(evidence.certificates.toReversed())
  await authenticate({ ...evidence, certificates }, genoa.context)
})

test('among intermediates of the same name, the one that signed is chosen', async () => {
  const evidence = await genoa.attest()
  const older = { name: genoa.ask.name, key: await makeKey('rsa-pss') }
  const der = await issueCertificate({ subject: older, issuer: genoa.ark, ca: {} })
  const certificates = [formatBase64(der), ...evidence.certificates]
  await authenticate({ ...evidence, certificates }, genoa.context)
})

test('genuine evidence may include lists of other issuers, and its newest own list counts', async () => {
  const evidence = await genoa.attest()
  const older = await issueCrl({
    issuer: genoa.ark,
    thisUpdate: new Date('2023-01-01'),
    nextUpdate: new Date('2023-02-01'),
  })
  const crls = [milan.crl, older].map(formatBase64).concat(evidence.crls)
  await authenticate({ ...evidence, crls }, genoa.context)
})

test('genuine evidence may wrap the chip id in an octet string', async () => {
  const hwid = Uint8Array.from({ length: 64 }, (_, index) => 255 - index)
  await authenticate(await genoa.attest({}, { hwid: wrapHwid(hwid) }), genoa.context)
})

test('a chain under a root that is not pinned is refused', async () => {
  const evidence = await genoa.attest()
  await refused(evidence, 'chain_untrusted', 'snp/chain/root', milan.context)
})

test('a chain with a missing, duplicate or garbled certificate is refused', async () => {
  const evidence = await genoa.attest()
  const [leaf, ask, ark] = evidence.certificates as [string, string, string]
  for (const certificates of [[], [ask, ark], [leaf, leaf, ask, ark], [leaf, ark], [leaf, ask]]) {
    await refused({ ...evidence, certificates }, 'chain_mismatch', 'snp/certificates')
  }
  const garbled = [leaf, ask, ark.slice(0, 400)]
  const refusal = 'certificate_malformed'
  await refused({ ...evidence, certificates: garbled }, refusal, 'snp/certificates')
  const many = new Array(9).fill(ark)
  await refused({ ...evidence, certificates: many }, 'evidence_malformed', 'snp/certificates')
})

test('a chain with another vendor’s intermediate is refused', async () => {
  const evidence = await genoa.attest()
  const imposter = { name: genoa.ask.name, key: await makeKey('rsa-pss') }
  const keyUsage = keyUsageBits.keyCertSign
  const der = await issueCertificate({ subject: imposter, issuer: genoa.ark, ca: {}, keyUsage })
  const certificates = [evidence.certificates[0]!, formatBase64(der), evidence.certificates[2]!]
  const swapped = { ...evidence, certificates }
  await refused(swapped, 'signature_invalid', 'snp/chain/0/signature')
})

test('a chain outside its validity is refused', async () => {
  const context = { ...genoa.context, at: new Date('2035-01-01') }
  const evidence = await genoa.attest()
  await refused(evidence, 'certificate_expired', 'snp/chain/0/validity', context)
})

const withCrls = async (...crls: Bytes[]) => ({
  ...(await genoa.attest()),
  crls: crls.map(formatBase64),
})

test('a revocation list is missing if there is none, or only those of other issuers', async () => {
  await refused(await withCrls(), 'crl_missing', 'snp/crl/present')
  await refused(await withCrls(milan.crl), 'crl_missing', 'snp/crl/present')
})

test('a revocation list that is empty, garbage or signed by another key is refused', async () => {
  const garbage = new Uint8Array(300).fill(0x30)
  await refused(await withCrls(new Uint8Array()), 'crl_invalid', 'snp/crl/present')
  await refused(await withCrls(genoa.crl, garbage), 'crl_invalid', 'snp/crl/present')
  const imposter = { name: genoa.ark.name, key: await makeKey('rsa-pss') }
  const forged = await withCrls(await issueCrl({ issuer: imposter }))
  await refused(forged, 'crl_invalid', 'snp/crl/signature')
  const byAsk = { name: genoa.ark.name, key: genoa.ask.key }
  const wrongKey = await withCrls(await issueCrl({ issuer: byAsk }))
  await refused(wrongKey, 'crl_invalid', 'snp/crl/signature')
})

test('a revocation list outside its window is stale', async () => {
  const nextUpdate = new Date('2025-12-31')
  const crl = await issueCrl({ issuer: genoa.ark, nextUpdate })
  await refused(await withCrls(crl), 'crl_stale', 'snp/crl/window')
})

test('a revocation list that names the intermediate revokes it', async () => {
  const revoked = [{ serial: 0x010001, at: new Date('2025-01-01') }]
  const crl = await issueCrl({ issuer: genoa.ark, revoked })
  await refused(await withCrls(crl), 'certificate_revoked', 'snp/revocation')
})

test('at most eight revocation lists are accepted', async () => {
  const many = await withCrls(...new Array(9).fill(genoa.crl))
  await refused(many, 'evidence_malformed', 'snp/crl/present')
})
