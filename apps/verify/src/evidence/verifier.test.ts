import { beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { vendorRoots } from '@privatemode/attestation'
import {
  makeTestIntel,
  type TestIntel,
} from '../../../../packages/attestation/src/testing/test-intel.ts'
import { thrown } from '../../../../test/rejection.ts'
import { UsageError } from '../command.ts'
import type { Bytes } from '../files/piece.ts'
import { type Files, readInputs } from './inputs.ts'
import { verify } from './verifier.ts'
import { nvidiaVerifier } from './verify-nvidia.ts'
import { snpVerifier } from './verify-snp.ts'
import { tdxVerifier } from './verify-tdx.ts'

const utf8 = (text: string): Bytes => new TextEncoder().encode(text)
const none: Omit<Files, 'report'> = {
  certificates: [],
  crls: [],
  collateral: [],
  rims: [],
  ocsp: [],
}

let intel: TestIntel
let whole: Files

beforeAll(async () => {
  intel = await makeTestIntel()
  const collateral = [utf8(JSON.stringify(await intel.makeCollateral()))]
  whole = { ...none, report: await intel.makeQuote(), collateral }
})

const judgeTdx = (files: Files) =>
  verify(
    tdxVerifier,
    readInputs(files, { context: intel.context, nonce: undefined, manifest: undefined }),
  )

describe('all evidence is verified, or the call is refused', () => {
  const quotes = async (count: number) => {
    const reportData = (index: number) => new Uint8Array(64).fill(index)
    const made = await Promise.all(
      Array.from({ length: count }, (_, index) =>
        intel.makeQuote({ reportData: reportData(index) }),
      ),
    )
    return utf8(JSON.stringify(made.map((quote) => Buffer.from(quote).toString('base64'))))
  }

  test('64 reports in a file are verified, and one more is too many', async () => {
    const verdict = await judgeTdx({ ...whole, report: await quotes(64) })
    expect(verdict.authentic).toBe(true)
    expect((verdict.claims as { reports: unknown[] }).reports).toHaveLength(64)
    const oneMore = judgeTdx({ ...whole, report: await quotes(65) })
    expect(await thrown(oneMore)).toThrow('more than 64 reports')
    expect(await thrown(judgeTdx({ ...whole, report: await quotes(65) }))).toThrow(UsageError)
  }, 240_000)

  test('a second quote after a good one is verified too', async () => {
    const second = await intel.makeQuote({ tdAttributes: Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0) })
    const report = new Uint8Array(Buffer.concat([whole.report, second]))
    expect(await judgeTdx({ ...whole, report })).toMatchObject({ code: 'debug_enabled' })
  })

  test('too many certificates, lists or documents are refused', () => {
    const answers = new Uint8Array(Buffer.from('30030a0101'.repeat(257), 'hex'))
    const judgement = { context: intel.context, nonce: undefined, manifest: undefined }
    const read = () => readInputs({ ...whole, ocsp: [answers] }, judgement)
    expect(read).toThrow('257 pieces of ocsp, at most 256')
  })
})

describe('a file that does not contain what it was given for is refused', () => {
  const garbage = utf8('garbage')

  test.each([
    ['certificates', 'certificate_malformed'],
    ['crls', 'crl_invalid'],
    ['collateral', 'collateral_malformed'],
    ['rims', 'collateral_malformed'],
    ['ocsp', 'evidence_malformed'],
  ] as const)('as %s, next to a good quote', async (option, code) => {
    expect((await judgeTdx(whole)).authentic).toBe(true)
    const verdict = await judgeTdx({ ...whole, [option]: [...whole[option], garbage] })
    expect(verdict).toMatchObject({ authentic: false, code })
    expect(Object.keys(verdict.claims as object).length).toBeGreaterThan(2)
  })
})

describe('a report of another TEE is named', () => {
  const context = {
    roots: vendorRoots,
    revocation: { allowUnknown: true, revokedGraceHours: 48 },
    at: new Date('2025-06-15T00:00:00Z'),
  }
  const judgement = { context, nonce: undefined, manifest: undefined }

  /** An Intel quote with the version and TEE of an SGX quote; nothing after it matters. */
  async function sgxQuote(version: 3 | 4): Promise<Bytes> {
    const quote = new Uint8Array(await intel.makeQuote())
    quote.set([version, 0], 0)
    quote.set([0, 0, 0, 0], 4)
    return quote
  }

  test.each([3, 4] as const)('an SGX quote of version %d', async (version) => {
    const quote = await sgxQuote(version)
    const forms = [
      quote,
      utf8(Buffer.from(quote).toString('hex')),
      utf8(JSON.stringify({ quote: Buffer.from(quote).toString('base64') })),
      new Uint8Array(Buffer.concat([Buffer.alloc(16, 1), quote])),
    ]
    for (const report of forms) {
      const verdict = await verify(tdxVerifier, readInputs({ ...none, report }, judgement))
      expect(verdict).toMatchObject({ authentic: false, code: 'evidence_unsupported' })
      expect(verdict.message).toContain('SGX')
    }
  })

  test('an SNP report where a quote or a GPU report was asked for', async () => {
    const file = new URL('../../../../test/vectors/snp/coco-milan/test-report.bin', import.meta.url)
    const inputs = readInputs({ ...none, report: new Uint8Array(readFileSync(file)) }, judgement)
    for (const judge of [verify(tdxVerifier, inputs), verify(nvidiaVerifier, inputs)]) {
      expect(await judge).toMatchObject({ code: 'evidence_malformed' })
      expect((await judge).message).toContain('an SNP report')
    }
    expect((await verify(snpVerifier, inputs)).code).toBe('chain_mismatch')
  })
})
