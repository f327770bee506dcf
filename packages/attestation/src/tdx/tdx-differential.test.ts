/** Compares our verdicts with those of an independent verifier, and explains every difference. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { QuoteVerifier } from '@phala/dcap-qvl'
import { formatBase64, parseBase64, utf8 } from '../bytes.ts'
import type { AuthenticityContext, TdxCollateral } from '../evidence.ts'
import { vendorRoots } from '../roots.ts'
import { readPhalaCollateral, readTdxQuote } from '../testing/tdx-vectors.ts'
import { ours, theirs, type Verdict } from '../testing/tdx-verdicts.ts'
import { issueCrl, testNow } from '../testing/test-authority.ts'
import { makeTestIntel, type TestIntel, testTcbInfo } from '../testing/test-intel.ts'
import type { TdxMachine } from '../testing/test-tdx-machine.ts'
import { parseQuote } from './quote.ts'

const production = (at: Date): AuthenticityContext => ({
  roots: vendorRoots,
  revocation: { allowUnknown: false, revokedGraceHours: 0 },
  at,
})

function flipped(bytes: Uint8Array, offset: number, bit: number): Uint8Array {
  const copy = new Uint8Array(bytes)
  copy[offset]! ^= 1 << bit
  return copy
}

/** Why the two may differ on a bit at this offset of the quote; undefined if they may not. */
function explain(quote: Uint8Array, offset: number, [our, their]: [Verdict, Verdict]) {
  const { signedPart, certificateChain, trailingBytes } = parseQuote(quote)
  const chainEnd = quote.length - trailingBytes
  const chainStart = chainEnd - certificateChain.length
  const text = new TextDecoder().decode(certificateChain)
  const rootStart = chainStart + text.lastIndexOf('-----BEGIN')
  const certificationType = signedPart.length + 4 + 128
  const lengths = [signedPart.length, certificationType, chainStart - 6]
  if (our === 'refused') {
    if (lengths.some((start) => offset >= start && offset < start + 6)) {
      return 'they do not check the outer certification type, nor that lengths add up'
    }
    if (offset >= rootStart && offset < chainEnd) {
      return 'they have their own copy of the root and pass over a broken one in the quote'
    }
    return undefined
  }
  if (their === 'refused' && offset >= chainStart && quote[offset] === 0x0a) {
    return 'a line break became another white space of RFC 7468, which they do not take for one'
  }
  return undefined
}

describe('on real quotes', () => {
  const valid = [
    ['phala/tdx_quote', 'tdx_quote', '2025-07-01T00:00:00Z'],
    ['dstack/quote-report.json', 'tdx_quote_outdated', '2026-03-05T00:00:00Z'],
  ] as const

  test('both accept what is up to date', async () => {
    for (const [path, name, time] of valid) {
      const [quote, collateral, at] = [
        readTdxQuote(path),
        readPhalaCollateral(name),
        new Date(time),
      ]
      expect(await ours(quote, collateral, production(at))).toBe('UpToDate')
      expect(theirs(quote, collateral, at)).toBe('UpToDate')
    }
  })

  test.each([
    ['coco/tdx_quote_4.dat', 'tdx_quote', '2025-07-01T00:00:00Z'],
    ['coco/tdx_quote_5.dat', 'tdx_quote_outdated', '2026-03-05T00:00:00Z'],
    ['coco/tdx_quote_6.dat', 'tdx_quote', '2025-07-01T00:00:00Z'],
    ['phala/tdx_quote_outdated', 'tdx_quote_outdated', '2026-03-05T00:00:00Z'],
    ['phala/tdx_quote', 'tdx_quote_outdated', '2026-03-05T00:00:00Z'],
    ['phala/tdx_quote', 'tdx_quote', '2025-08-01T00:00:00Z'],
    ['intel-qvl-sample/quote.dat', 'tdx_quote', '2025-07-01T00:00:00Z'],
  ])('both refuse %s with the collateral %s at %s', async (path, name, time) => {
    const [quote, collateral, at] = [readTdxQuote(path), readPhalaCollateral(name), new Date(time)]
    expect(await ours(quote, collateral, production(at))).toBe('refused')
    expect(theirs(quote, collateral, at)).toBe('refused')
  })

  test('on quotes with one bit off, every difference is explained', async () => {
    const [path, name, time] = valid[0]
    const [quote, collateral, at] = [readTdxQuote(path), readPhalaCollateral(name), new Date(time)]
    const reasons = new Map<string, number>()
    let compared = 0
    const offsets = new Set([632, 764, 1254, 1480, 3987])
    for (let offset = 0; offset < quote.length; offset += 37) offsets.add(offset)
    for (const offset of offsets) {
      const mutant = flipped(quote, offset, offset % 8)
      const verdicts: [Verdict, Verdict] = [
        await ours(mutant, collateral, production(at)),
        theirs(mutant, collateral, at),
      ]
      compared += 1
      if (verdicts[0] === verdicts[1]) continue
      const reason = explain(quote, offset, verdicts)
      if (reason === undefined)
        throw new Error(`bit at ${offset}: we ${verdicts[0]}, they ${verdicts[1]}`)
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
    }
    console.log(`tdx differential: ${compared} mutants`, Object.fromEntries(reasons))
    expect(reasons.size).toBe(3)
  })

  test.each(['pck_crl', 'root_ca_crl'] as const)(
    'they accept a %s that is empty, garbage or badly signed; we refuse it',
    async (list) => {
      const [path, name, time] = valid[0]
      const [quote, at] = [readTdxQuote(path), new Date(time)]
      const genuine = parseBase64(readPhalaCollateral(name)[list])!
      for (const bytes of [[], utf8('garbage'), flipped(genuine, genuine.length - 1, 0)]) {
        const collateral = {
          ...readPhalaCollateral(name),
          [list]: formatBase64(Uint8Array.from(bytes)),
        }
        expect(theirs(quote, collateral, at)).toBe('UpToDate')
        expect(await ours(quote, collateral, production(at))).toBe('refused')
      }
    },
  )
})

describe('on quotes of our own under our own root', () => {
  let intel: TestIntel
  let verifier: QuoteVerifier

  beforeAll(async () => {
    intel = await makeTestIntel()
    verifier = QuoteVerifier.newWithRootCa(Buffer.from(intel.rootDer))
  })

  async function compare(machine: Partial<TdxMachine>, changes: Partial<TdxCollateral> = {}) {
    const quote = await intel.makeQuote(machine)
    const collateral = { ...(await intel.makeCollateral()), ...changes }
    return {
      ours: await ours(quote, collateral, intel.context),
      theirs: theirs(quote, collateral, testNow, verifier),
    }
  }

  const svn = (...values: number[]) => Uint8Array.from({ length: 16 }, (_, i) => values[i] ?? 0)

  test.each<[string, Partial<TdxMachine>, Verdict]>([
    ['a good machine', {}, 'UpToDate'],
    ['version 5', { version: 5, bodyType: 3 }, 'UpToDate'],
    ['an old PCE', { pceSvn: 12 }, 'OutOfDate'],
    ['an old QE', { qeIsvSvn: 3 }, 'OutOfDate'],
    ['a platform below every level', { pceSvn: 1 }, 'refused'],
    ['a debuggable TD', { tdAttributes: Uint8Array.of(1, 0, 0, 0x10, 0, 0, 0, 0) }, 'refused'],
    ['a migratable TD', { tdAttributes: Uint8Array.of(0, 0, 0, 0x30, 0, 0, 0, 0) }, 'refused'],
    ['a QE of another signer', { qeMrSigner: new Uint8Array(32) }, 'refused'],
    ['a QE of another product', { qeIsvProdId: 1 }, 'refused'],
    ['another FMSPC', { fmspc: Uint8Array.of(1, 2, 3, 4, 5, 6) }, 'refused'],
    ['no SGX extension', { withoutExtension: true }, 'refused'],
  ])('both agree on %s', async (_, machine, verdict) => {
    expect(await compare(machine)).toEqual({ ours: verdict, theirs: verdict })
  })

  test.each<[string, Partial<TdxMachine>, Verdict, Verdict]>([
    // They do not evaluate module identities at all.
    ['an old TDX module', { teeTcbSvn: svn(5, 1, 3) }, 'OutOfDate', 'UpToDate'],
    ['a module without identity', { teeTcbSvn: svn(6, 3, 3) }, 'refused', 'UpToDate'],
    [
      'a module of another signer',
      { mrSignerSeam: new Uint8Array(48).fill(1) },
      'refused',
      'UpToDate',
    ],
    ['other SEAM attributes', { seamAttributes: new Uint8Array(8).fill(1) }, 'refused', 'UpToDate'],
    // They do not compare PCEID, nor the second half of the QE's report data.
    ['another PCE', { pceId: Uint8Array.of(0, 1) }, 'refused', 'UpToDate'],
    [
      'more in the QE report data',
      { qeReportDataTail: new Uint8Array(32).fill(1) },
      'refused',
      'UpToDate',
    ],
    // They require these for every TD; for us, the manifest decides (td_attributes, service TD).
    ['SEPT_VE_DISABLE off', { tdAttributes: new Uint8Array(8) }, 'UpToDate', 'refused'],
    [
      'a service TD',
      { version: 5, bodyType: 3, mrServiceTd: new Uint8Array(48).fill(1) },
      'UpToDate',
      'refused',
    ],
  ])('the difference on %s is known', async (_, machine, our, their) => {
    expect(await compare(machine)).toEqual({ ours: our, theirs: their })
  })

  test("they compare the module's own version with the platform level, which Intel skips", async () => {
    const tcbInfo = testTcbInfo()
    Object.assign(tcbInfo.tdxModuleIdentities[0]!.tcbLevels[0]!, { tcb: { isvsvn: 2 } })
    const collateral = await intel.makeCollateral(tcbInfo)
    const verdicts = await compare({ teeTcbSvn: svn(2, 1, 3) }, collateral)
    expect(verdicts).toEqual({ ours: 'UpToDate', theirs: 'refused' })
  })

  test('they accept lists past their window; we refuse them', async () => {
    const nextUpdate = new Date(testNow.getTime() - 1000)
    const pck_crl = formatBase64(await issueCrl({ issuer: intel.ca, nextUpdate }))
    expect(await compare({}, { pck_crl })).toEqual({ ours: 'refused', theirs: 'UpToDate' })
  })

  test('both refuse a platform that a genuine list names', async () => {
    const revoked = [{ serial: 4, at: testNow }]
    const pck_crl = formatBase64(await issueCrl({ issuer: intel.ca, revoked }))
    expect(await compare({}, { pck_crl })).toEqual({ ours: 'refused', theirs: 'refused' })
  })

  test('they accept TCB info of another type, and unknown members; we refuse both', async () => {
    for (const change of [{ tcbType: 1 }, { exception: true }]) {
      const collateral = await intel.makeCollateral({ ...testTcbInfo(), ...change })
      expect(await compare({}, collateral)).toEqual({ ours: 'refused', theirs: 'UpToDate' })
    }
  })
})
