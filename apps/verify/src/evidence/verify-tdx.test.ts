import { beforeAll, expect, test } from 'bun:test'
import { formatManifest, parseManifest } from '@privatemode/attestation'
import { issueCrl } from '../../../../packages/attestation/src/testing/test-authority.ts'
import {
  makeTestIntel,
  type TestIntel,
} from '../../../../packages/attestation/src/testing/test-intel.ts'
import type { Bytes } from '../files/piece.ts'
import { type Files, readInputs } from './inputs.ts'
import { isYes } from './verdict.ts'
import { verify } from './verifier.ts'
import { tdxVerifier } from './verify-tdx.ts'

let intel: TestIntel
/** Everything in its own file, as Intel's service hands it out. */
let files: Files

const utf8 = (text: string): Bytes => new TextEncoder().encode(text)

beforeAll(async () => {
  intel = await makeTestIntel()
  const collateral = await intel.makeCollateral()
  const { tcb_info, tcb_info_signature, qe_identity, qe_identity_signature } = collateral
  files = {
    report: await intel.makeQuote(),
    certificates: [intel.signerDer],
    crls: [await issueCrl({ issuer: intel.ca }), await issueCrl({ issuer: intel.root })],
    collateral: [
      utf8(`{"tcbInfo":${tcb_info},"signature":"${tcb_info_signature}"}`),
      utf8(`{"enclaveIdentity":${qe_identity},"signature":"${qe_identity_signature}"}`),
    ],
    rims: [],
    ocsp: [],
  }
})

const judge = (changes: Partial<Files>, manifest?: Awaited<ReturnType<typeof parseManifest>>) =>
  verify(
    tdxVerifier,
    readInputs({ ...files, ...changes }, { context: intel.context, nonce: undefined, manifest }),
  )

test('loose files are combined: lists by issuer, signer by certificate', async () => {
  const verdict = await judge({})
  expect(verdict).toMatchObject({ authentic: true, code: null })
  expect(isYes(verdict)).toBe(true)
})

test("named collateral in one file works, and so does everything in the quote's file", async () => {
  const none = { certificates: [], crls: [], collateral: [] }
  const named = await intel.makeCollateral()
  expect((await judge({ ...none, collateral: [utf8(JSON.stringify(named))] })).authentic).toBe(true)
  const quote = Buffer.from(files.report).toString('hex')
  const report = utf8(JSON.stringify({ quote, collateral: named }))
  expect((await judge({ ...none, report })).authentic).toBe(true)
})

test.each<[string, (all: Files) => Partial<Files>, string]>([
  ['a list', ({ crls }) => ({ crls: crls.slice(1) }), 'crl_'],
  ['both lists', () => ({ crls: [] }), 'crl_missing'],
  ['TCB info', ({ collateral }) => ({ collateral: collateral.slice(1) }), 'collateral_missing'],
  [
    'QE identity',
    ({ collateral }) => ({ collateral: collateral.slice(0, 1) }),
    'collateral_missing',
  ],
  ["the signer's certificate", () => ({ certificates: [] }), 'collateral_missing'],
])('without %s it is refused, but its claims are shown', async (_, change, code) => {
  const verdict = await judge(change(files))
  expect(verdict.authentic).toBe(false)
  expect(verdict.code).toStartWith(code)
  expect(verdict.claims).toMatchObject({ kind: 'tdx', fmspc: '90c06f000000' })
  expect(verdict.checks).toContainEqual(
    expect.objectContaining({ id: 'tdx/quote-signature', result: 'passed' }),
  )
})

test('unrelated documents and signers next to the right ones do no harm', async () => {
  const other = await makeTestIntel()
  const foreign = await other.makeCollateral({ ...JSON.parse('{}'), fmspc: '000000000000' })
  const verdict = await judge({
    certificates: [other.signerDer, ...files.certificates],
    collateral: [
      utf8(`{"tcbInfo":${foreign.tcb_info},"signature":"${foreign.tcb_info_signature}"}`),
      ...files.collateral,
    ],
  })
  expect(verdict.authentic).toBe(true)
})

test('a broken chain in named collateral is not replaced by a good one', async () => {
  const named = { ...(await intel.makeCollateral()), tcb_info_issuer_chain: 'broken' }
  const verdict = await judge({ collateral: [utf8(JSON.stringify(named))] })
  expect(verdict).toMatchObject({ authentic: false, code: 'certificate_malformed' })
})

test('without a manifest an outdated TCB is refused; a manifest may list it', async () => {
  const report = await intel.makeQuote({ pceSvn: 12 })
  expect(await judge({ report })).toMatchObject({ authentic: false, code: 'tcb_unlisted' })
  const accepting = await judge({ report }, await manifestOf('70', ['OutOfDate']))
  expect(accepting).toMatchObject({ authentic: true, appraisal: { accepted: true } })
  expect(isYes(accepting)).toBe(true)
  const refusing = await judge({ report }, await manifestOf('70', []))
  expect(refusing).toMatchObject({ authentic: true, code: 'tcb_unlisted' })
  expect(isYes(refusing)).toBe(false)
})

test('a machine that the manifest does not list is authentic and not accepted', async () => {
  const verdict = await judge({}, await manifestOf('71', []))
  expect(verdict).toMatchObject({
    authentic: true,
    code: 'measurement_unknown',
    appraisal: { accepted: false, code: 'measurement_unknown' },
  })
  expect(isYes(verdict)).toBe(false)
})

async function manifestOf(mrTd: string, statuses: string[]) {
  const register = (byte: string) => byte.repeat(48)
  const [rtmr0, rtmr1, rtmr2] = ['10', '11', '12'].map(register)
  const rule = {
    kind: 'tdx',
    measurements: [{ mr_td: register(mrTd), rtmr0, rtmr1, rtmr2 }],
    accepted_tcb_statuses: statuses,
    td_attributes: '0000001000000000',
    xfam: 'e702060000000000',
  }
  return parseManifest(
    formatManifest({
      issuedAt: '2025-12-01T00:00:00Z',
      serial: 1,
      evidence: 'hardware',
      roles: { worker: { accept: [rule as never] } },
      models: [],
    }),
  )
}
