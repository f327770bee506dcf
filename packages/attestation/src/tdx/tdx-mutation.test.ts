import { describe, expect, test } from 'bun:test'
import { formatBase64, formatHex } from '../bytes.ts'
import { vendorRoots } from '../roots.ts'
import { formatFlipReport } from '../testing/flip-bits.ts'
import { mutateTdx } from '../testing/tdx-mutations.ts'
import { readPhalaCollateral, readTdxQuote } from '../testing/tdx-vectors.ts'
import { makeTestIntel } from '../testing/test-intel.ts'
import { Transcript } from '../verdict.ts'
import { appraiseTdx } from './appraise-tdx.ts'
import { authenticateTdx } from './authenticate-tdx.ts'
import type { TdxRule } from './rule.ts'

// `scripts/mutate-tdx.ts` flips every bit; here every 211th.
const every = 211

test('no bit of evidence changes without a typed refusal, except justified ones', async () => {
  const intel = await makeTestIntel()
  const evidence = await intel.attest({ trailing: new Uint8Array(70) })
  const report = await mutateTdx(evidence, intel.context, every)
  console.log(formatFlipReport('tdx, test root', report))
  expect(report.survivors).toEqual([])
  expect(report.flipped).toBeGreaterThan(300)
})

test('no bit of a rule changes without a typed refusal', async () => {
  const intel = await makeTestIntel()
  const evidence = await intel.attest({ version: 5, bodyType: 3 })
  const claims = await authenticateTdx(evidence, intel.context, new Transcript())
  const { mrTd, rtmr0, rtmr1, rtmr2, rtmr3, tdAttributes, xfam } = claims
  const { mrSeam, mrConfigId, mrOwner, mrOwnerConfig, mrServiceTd } = claims
  const flat = { tdAttributes, xfam, mrConfigId, mrOwner, mrOwnerConfig, mrServiceTd }
  const measured = { mrTd, rtmr0, rtmr1, rtmr2, rtmr3 }
  const ruleOf = (change: object): TdxRule => {
    const values: { [name: string]: string | undefined; mrSeam: string } = {
      ...flat,
      ...measured,
      mrSeam,
      ...change,
    }
    const pick = (names: object) =>
      Object.fromEntries(Object.keys(names).map((name) => [name, values[name]]))
    return {
      ...pick(flat),
      measurements: [pick(measured)],
      mrSeam: [values.mrSeam],
      acceptedTcbStatuses: [],
    } as unknown as TdxRule
  }
  const appraise = (change: object) => appraiseTdx(claims, ruleOf(change), new Transcript())
  expect(() => appraise({})).not.toThrow()
  let refused = 0
  for (const [name, hex] of Object.entries({ ...flat, ...measured, mrSeam })) {
    for (let bit = 0; bit < hex!.length * 4; bit += 1) {
      const bytes = Uint8Array.fromHex(hex!)
      bytes[bit >>> 3]! ^= 1 << (bit & 7)
      expect(() => appraise({ [name]: formatHex(bytes) })).toThrow(
        expect.objectContaining({ name: 'AttestationError' }),
      )
      refused += 1
    }
  }
  console.log(`tdx, rule: ${refused} bits flipped, ${refused} refused`)
  expect(refused).toBe(10 * 384 + 2 * 64)
})

describe('on a real quote', () => {
  test('no bit changes without a typed refusal, except justified ones', async () => {
    const quote = formatBase64(readTdxQuote('phala/tdx_quote'))
    const evidence = { kind: 'tdx', quote, collateral: readPhalaCollateral('tdx_quote') } as const
    const revocation = { allowUnknown: false, revokedGraceHours: 0 }
    const context = { roots: vendorRoots, revocation, at: new Date('2025-07-01T00:00:00Z') }
    const report = await mutateTdx(evidence, context, every)
    console.log(formatFlipReport("tdx, Intel's root", report))
    expect(report.survivors).toEqual([])
  })
})
