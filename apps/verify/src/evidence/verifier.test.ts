import { beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { vendorRoots } from '@privatemode/attestation'
import {
  type HardwareRequest,
  hardwareWorld,
} from '../../../../packages/attestation/src/testing/hardware-world.ts'
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

describe('with a manifest', () => {
  let world: Awaited<ReturnType<typeof hardwareWorld>>
  beforeAll(async () => {
    world = await hardwareWorld()
  })

  const expiresAt = '2026-01-01T11:00:00Z'
  async function judge(kind: 'snp' | 'tdx' | 'nvidia-gpu', request: HardwareRequest) {
    const { evidence, manifest, roots, revocation, at } = await world.inputs(request)
    const report = utf8(JSON.stringify(kind === 'nvidia-gpu' ? evidence.devices : evidence.cpu))
    const context = { roots, revocation, at }
    const inputs = readInputs({ ...none, report }, { context, nonce: undefined, manifest })
    switch (kind) {
      case 'snp':
        return await verify(snpVerifier, inputs)
      case 'tdx':
        return await verify(tdxVerifier, inputs)
      case 'nvidia-gpu':
        return await verify(nvidiaVerifier, inputs)
    }
  }

  test.each(['snp', 'tdx', 'nvidia-gpu'] as const)(
    'evidence of %s is accepted until the manifest expires',
    async (kind) => {
      const cpu = kind === 'tdx' ? 'tdx' : 'snp'
      const verdict = await judge(kind, { cpu, draft: { expiresAt: '2027-01-01T00:00:00Z' } })
      expect(verdict).toMatchObject({ authentic: true, appraisal: { accepted: true } })
      const expired = await judge(kind, { cpu, draft: { expiresAt } })
      expect(expired).toMatchObject({ authentic: true, code: 'manifest_expired' })
      expect(expired.appraisal).toMatchObject({ accepted: false, code: 'manifest_expired' })
    },
  )

  test('there must be as many GPUs and switches as one rule demands', async () => {
    const demanding = (demand: object): NonNullable<HardwareRequest['draft']> => {
      const devices = world.snpRule.devices as { 'nvidia-gpu': object }
      const rule = {
        ...world.snpRule,
        devices: { 'nvidia-gpu': { ...devices['nvidia-gpu'], ...demand } },
      }
      return { roles: { worker: { accept: [rule] } } }
    }
    const one = { min: 1, max: 1 }
    const judged = async (demand: object) => {
      const { code, appraisal } = await judge('nvidia-gpu', { draft: demanding(demand) })
      return [code, appraisal?.accepted]
    }
    expect(await judged({ count: one })).toEqual([null, true])
    expect(await judged({ count: { min: 8, max: 8 } })).toEqual(['device_missing', false])
    expect(await judged({ count: one, switches: one })).toEqual(['device_missing', false])
  })
})
