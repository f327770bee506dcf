import { beforeAll, expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import { formatBase64, parseBase64 } from '../bytes.ts'
import type { AuthenticityContext, TdxCollateral, TdxEvidence } from '../evidence.ts'
import { issueCertificate, issueCrl, keyUsageBits, testNow } from '../testing/test-authority.ts'
import { formatPem, makeTestIntel, type TestIntel } from '../testing/test-intel.ts'
import { makeKey } from '../testing/test-key.ts'
import { Transcript } from '../verdict.ts'
import { authenticateTdx } from './authenticate-tdx.ts'

let intel: TestIntel

beforeAll(async () => {
  intel = await makeTestIntel()
})

const authenticate = (evidence: TdxEvidence, changes: Partial<AuthenticityContext> = {}) =>
  authenticateTdx(evidence, { ...intel.context, ...changes }, new Transcript())

async function expectRefusal(evidence: TdxEvidence, code: string, id?: string): Promise<void> {
  const transcript = new Transcript()
  const verdict = authenticateTdx(evidence, intel.context, transcript)
  expect(await rejection(verdict)).toMatchObject({ name: 'AttestationError', code })
  const last = transcript.checks.at(-1)
  expect(last?.result).toBe('failed')
  if (id !== undefined) expect(last?.id).toBe(id)
}

const withCollateral = (changes: Partial<TdxCollateral>) => intel.attest({}, changes)

test('a quote with good collateral is authentic and yields its measurements', async () => {
  const transcript = new Transcript()
  const evidence = await intel.attest()
  const claims = await authenticateTdx(evidence, intel.context, transcript)
  expect(claims.mrTd).toBe('70'.repeat(48))
  expect(claims.fmspc).toBe('90c06f000000')
  expect(claims.tcb).toMatchObject({
    status: 'UpToDate',
    moduleStatus: 'UpToDate',
    advisoryIds: [],
  })
  expect(transcript.checks.filter(({ result }) => result !== 'passed')).toEqual([])
})

test.each([
  { version: 5, bodyType: 2 },
  { version: 5, bodyType: 3 },
] as const)('version $version with body type $bodyType is authentic too', async (shape) => {
  const claims = await authenticate(await intel.attest(shape))
  expect(claims.quoteVersion).toBe(5)
  expect(claims.mrServiceTd).toBe(shape.bodyType === 3 ? '00'.repeat(48) : undefined)
})

test('another root is refused, although it has the same name', async () => {
  const impostor = await makeTestIntel()
  await expectRefusal(await impostor.attest(), 'chain_untrusted', 'tdx/pck-chain/root')
})

test('collateral of another root is refused, although it has the same name', async () => {
  const impostor = await makeTestIntel()
  const { tcb_info_issuer_chain, tcb_info, tcb_info_signature } = await impostor.makeCollateral()
  const foreign = { tcb_info_issuer_chain, tcb_info, tcb_info_signature }
  await expectRefusal(await withCollateral(foreign), 'chain_untrusted', 'tdx/tcb-info/chain/root')
})

test('certificates outside their validity are refused', async () => {
  const evidence = await intel.attest()
  const verdict = authenticate(evidence, { at: new Date('2053-01-01T00:00:00Z') })
  expect(await rejection(verdict)).toMatchObject({ code: 'certificate_expired' })
})

test('an invalid time is in no validity window', async () => {
  const verdict = authenticate(await intel.attest(), { at: new Date('never') })
  expect(await rejection(verdict)).toMatchObject({ code: 'certificate_expired' })
})

test.each([
  ['the report of the quoting enclave', 800, 'tdx/qe-report-signature'],
  ['the signature over that report', 1160, 'tdx/qe-report-signature'],
  ['the attestation key', 700, 'tdx/attestation-key'],
  ['the auth data of the quoting enclave', 1230, 'tdx/attestation-key'],
  ['the body', 300, 'tdx/quote-signature'],
  ['the signature over the quote', 640, 'tdx/quote-signature'],
])('one bit off in %s is refused', async (_, offset, id) => {
  const quote = await intel.makeQuote()
  quote[offset]! ^= 1
  const evidence = { ...(await intel.attest()), quote: formatBase64(quote) }
  await expectRefusal(evidence, 'signature_invalid', id)
})

test('QE report data that contains more than the digest is refused', async () => {
  const evidence = await intel.attest({ qeReportDataTail: new Uint8Array(32).fill(1) })
  await expectRefusal(evidence, 'signature_invalid', 'tdx/attestation-key')
})

test('a debuggable TD is refused, and so is a migratable one', async () => {
  for (const bit of [0, 1, 7]) {
    const tdAttributes = Uint8Array.of(1 << bit, 0, 0, 0x10, 0, 0, 0, 0)
    await expectRefusal(await intel.attest({ tdAttributes }), 'debug_enabled', 'tdx/debug')
  }
  const tdAttributes = Uint8Array.of(0, 0, 0, 0x30, 0, 0, 0, 0)
  await expectRefusal(await intel.attest({ tdAttributes }), 'migration_enabled', 'tdx/migration')
})

test.each(['root_ca_crl', 'pck_crl'] as const)('without %s nothing is authentic', async (name) => {
  await expectRefusal(await withCollateral({ [name]: '' }), 'crl_missing')
})

test.each(['root_ca_crl', 'pck_crl'] as const)('garbage as %s is refused', async (name) => {
  for (const bytes of [[0], [0x30, 0], [0xde, 0xad, 0xbe, 0xef]]) {
    const garbage = formatBase64(Uint8Array.from(bytes))
    await expectRefusal(await withCollateral({ [name]: garbage }), 'crl_invalid')
  }
  await expectRefusal(await withCollateral({ [name]: 'not base64' }), 'crl_invalid')
})

test('a list signed by a key of the same name is refused', async () => {
  for (const name of ['root_ca_crl', 'pck_crl'] as const) {
    const { name: commonName } = name === 'pck_crl' ? intel.ca : intel.root
    const crl = await issueCrl({ issuer: { name: commonName, key: await makeKey('p256') } })
    await expectRefusal(await withCollateral({ [name]: formatBase64(crl) }), 'crl_invalid')
  }
})

test('one bit off in a list is refused', async () => {
  const { root_ca_crl } = await intel.makeCollateral()
  const crl = parseBase64(root_ca_crl)!
  crl[crl.length - 1]! ^= 1
  await expectRefusal(await withCollateral({ root_ca_crl: formatBase64(crl) }), 'crl_invalid')
})

test('the two lists cannot replace each other', async () => {
  const { root_ca_crl, pck_crl } = await intel.makeCollateral()
  const swapped = { root_ca_crl: pck_crl, pck_crl: root_ca_crl }
  await expectRefusal(await withCollateral(swapped), 'crl_invalid', 'tdx/root-crl/issuer')
  await expectRefusal(
    await withCollateral({ pck_crl: root_ca_crl }),
    'crl_invalid',
    'tdx/pck-crl/issuer',
  )
})

test('a list past its next update, or from the future, is stale', async () => {
  const before = new Date(testNow.getTime() - 1000)
  const after = new Date(testNow.getTime() + 1000)
  for (const window of [{ nextUpdate: before }, { thisUpdate: after }, { nextUpdate: null }]) {
    const pck = formatBase64(await issueCrl({ issuer: intel.ca, ...window }))
    await expectRefusal(await withCollateral({ pck_crl: pck }), 'crl_stale', 'tdx/pck-crl/window')
    const root = formatBase64(await issueCrl({ issuer: intel.root, ...window }))
    await expectRefusal(
      await withCollateral({ root_ca_crl: root }),
      'crl_stale',
      'tdx/root-crl/window',
    )
  }
})

test('a revoked platform, authority or TCB signer is refused', async () => {
  const listing = async (issuer: TestIntel['ca'], serial: number) =>
    formatBase64(await issueCrl({ issuer, revoked: [{ serial, at: testNow }] }))
  await expectRefusal(
    await withCollateral({ pck_crl: await listing(intel.ca, 4) }),
    'certificate_revoked',
    'tdx/pck-revocation',
  )
  await expectRefusal(
    await withCollateral({ root_ca_crl: await listing(intel.root, 2) }),
    'certificate_revoked',
    'tdx/intermediate-revocation',
  )
  await expectRefusal(
    await withCollateral({ root_ca_crl: await listing(intel.root, 3) }),
    'certificate_revoked',
    'tdx/tcb-info/signer-revocation',
  )
})

test.each([
  'tcb_info',
  'tcb_info_signature',
  'tcb_info_issuer_chain',
  'qe_identity',
  'qe_identity_signature',
  'qe_identity_issuer_chain',
] as const)('without %s nothing is authentic', async (name) => {
  await expectRefusal(await withCollateral({ [name]: '' }), 'collateral_missing', 'tdx/collateral')
})

test('a quote without collateral still shows whether its own signatures are valid', async () => {
  const empty = Object.fromEntries(
    Object.keys(await intel.makeCollateral()).map((name) => [name, '']),
  )
  const transcript = new Transcript()
  const verdict = authenticateTdx(await withCollateral(empty), intel.context, transcript)
  expect(await rejection(verdict)).toMatchObject({ code: 'collateral_missing' })
  const passed = transcript.checks.filter(({ result }) => result === 'passed').map(({ id }) => id)
  expect(passed).toContain('tdx/quote-signature')
  expect(passed).toContain('tdx/pck-chain/root')
})

test('a quote that is not base64 is malformed', async () => {
  const evidence = { ...(await intel.attest()), quote: '!' }
  await expectRefusal(evidence, 'evidence_malformed', 'tdx/quote')
})

test('a chain in the quote that lacks the root, or has one certificate too many, is refused', async () => {
  const key = await makeKey('p256')
  const stranger = await issueCertificate({ subject: { name: 'stranger', key } })
  const { tcb_info_issuer_chain: chain } = await intel.makeCollateral()
  for (const text of [formatPem(intel.signerDer), chain + formatPem(stranger)]) {
    await expectRefusal(
      await withCollateral({ tcb_info_issuer_chain: text }),
      'chain_mismatch',
      'tdx/tcb-info/chain/length',
    )
  }
})

test('a CA under the root does not sign TCB info', async () => {
  const { tcb_info } = await intel.makeCollateral()
  const signature = await intel.ca.key.signRaw(new TextEncoder().encode(tcb_info))
  await expectRefusal(
    await withCollateral({
      tcb_info_issuer_chain: formatPem(intel.caDer, intel.rootDer),
      tcb_info_signature: signature.toHex(),
    }),
    'chain_mismatch',
    'tdx/tcb-info/chain/leaf',
  )
})

test('a platform certificate does not sign TCB info, although its CA is genuine', async () => {
  const subject = { name: 'platform', key: await makeKey('p256') }
  const usage = keyUsageBits.digitalSignature
  const der = await issueCertificate({ subject, issuer: intel.ca, serial: 9, keyUsage: usage })
  const { tcb_info } = await intel.makeCollateral()
  const signature = await subject.key.signRaw(new TextEncoder().encode(tcb_info))
  await expectRefusal(
    await withCollateral({
      tcb_info_issuer_chain: formatPem(der, intel.caDer, intel.rootDer),
      tcb_info_signature: signature.toHex(),
    }),
    'chain_mismatch',
    'tdx/tcb-info/chain/length',
  )
})

test('a PCK certificate without the SGX extension is refused', async () => {
  const evidence = await intel.attest({ withoutExtension: true })
  await expectRefusal(evidence, 'certificate_malformed', 'tdx/pck-extension')
})
