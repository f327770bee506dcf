import { describe, expect, test } from 'bun:test'
import { formatBase64, formatHex, utf8 } from '../bytes.ts'
import { sha512 } from '../digest.ts'
import type { AuthenticityContext, TdxCollateral } from '../evidence.ts'
import { vendorRoots } from '../roots.ts'
import { readPhalaCollateral, readTdxQuote, splitSigned } from '../testing/tdx-vectors.ts'
import { readVector, readVectorText } from '../testing/vectors.ts'
import { AttestationError, Transcript } from '../verdict.ts'
import { fingerprint, parsePem } from '../x509/certificate.ts'
import { authenticateTdx } from './authenticate-tdx.ts'
import { parseIssuerChain } from './issuer-chain.ts'
import { readPckPlatform } from './pck-certificate.ts'
import { parseQuote } from './quote.ts'
import { evaluateTcb } from './tcb.ts'
import { parseQeIdentity, parseTcbInfo } from './tcb-info.ts'

const noCollateral: TdxCollateral = {
  tcb_info_issuer_chain: '',
  tcb_info: '',
  tcb_info_signature: '',
  qe_identity_issuer_chain: '',
  qe_identity: '',
  qe_identity_signature: '',
  pck_crl_issuer_chain: '',
  pck_crl: '',
  root_ca_crl: '',
}

async function run(
  quotePath: string,
  collateral: TdxCollateral,
  at: string,
  changes: Partial<AuthenticityContext> = {},
) {
  const transcript = new Transcript()
  const context: AuthenticityContext = {
    roots: vendorRoots,
    revocation: { allowUnknown: false, revokedGraceHours: 0 },
    at: new Date(at),
    ...changes,
  }
  const quote = formatBase64(readTdxQuote(quotePath))
  try {
    const claims = await authenticateTdx({ kind: 'tdx', quote, collateral }, context, transcript)
    return { code: 'authentic', claims, last: '', passed: [] }
  } catch (error) {
    if (!(error instanceof AttestationError)) throw error
    const passed = error.checks.filter(({ result }) => result === 'passed').map(({ id }) => id)
    return { code: error.code, claims: undefined, last: error.checks.at(-1)?.id, passed }
  }
}

const inB0c06f = '2025-07-01T00:00:00Z'
const in90c06f = '2026-03-05T00:00:00Z'

describe('real TDX evidence', () => {
  test("Phala's quote is up to date inside its collateral's window, with no advisories", async () => {
    const collateral = readPhalaCollateral('tdx_quote')
    for (const at of ['2025-06-19T10:32:27Z', inB0c06f, '2025-07-19T10:00:00Z']) {
      const { claims } = await run('phala/tdx_quote', collateral, at)
      expect(claims?.tcb).toMatchObject({ status: 'UpToDate', advisoryIds: [] })
      expect(claims?.fmspc).toBe('b0c06f000000')
    }
  })

  test('outside that window it is refused', async () => {
    const collateral = readPhalaCollateral('tdx_quote')
    const before = await run('phala/tdx_quote', collateral, '2025-06-19T10:32:26Z')
    expect(before).toMatchObject({ code: 'collateral_stale', last: 'tdx/qe-identity/window' })
    const after = await run('phala/tdx_quote', collateral, '2025-07-19T10:20:00Z')
    expect(after.code).toBe('crl_stale')
    const today = await run('phala/tdx_quote', collateral, '2026-11-15T00:00:00Z')
    expect(today.code).toBe('crl_stale')
  })

  test('dstack runs on a platform that the other collateral calls up to date', async () => {
    const collateral = readPhalaCollateral('tdx_quote_outdated')
    const { claims } = await run('dstack/quote-report.json', collateral, in90c06f)
    expect(claims?.tcb.status).toBe('UpToDate')
    const { report_data } = JSON.parse(readVectorText('tdx/dstack/quote-report.json'))
    expect(claims?.reportData).toEqual(Uint8Array.fromHex(report_data))
  })

  test('a platform below every level is refused although its module is up to date', async () => {
    const collateral = readPhalaCollateral('tdx_quote_outdated')
    const verdict = await run('phala/tdx_quote_outdated', collateral, in90c06f)
    expect(verdict).toMatchObject({ code: 'tcb_too_old', last: 'tdx/platform-tcb' })
    expect(verdict.passed).toContain('tdx/module-tcb')
  })

  test('the quote of a lab machine is refused for its TCB', async () => {
    const collateral = readPhalaCollateral('tdx_quote_outdated')
    const verdict = await run('coco/tdx_quote_5.dat', collateral, in90c06f)
    expect(verdict).toMatchObject({ code: 'tcb_too_old', last: 'tdx/platform-tcb' })
  })

  test('a debuggable TD is refused although all its signatures hold', async () => {
    const verdict = await run('coco/tdx_quote_4.dat', noCollateral, inB0c06f)
    expect(verdict).toMatchObject({ code: 'debug_enabled', last: 'tdx/debug' })
    expect(verdict.passed).toContain('tdx/quote-signature')
  })

  test.each([
    ['coco/tdx_quote_6.dat', inB0c06f],
    ['google/tdx_prod_quote_SPR_E4.dat', '2023-07-01T00:00:00Z'],
    ['teekit/tdx-v4-gcp.json', '2025-10-10T00:00:00Z'],
    ['teekit/tdx-v4-gcp-no-nonce.json', '2025-10-10T00:00:00Z'],
  ])('%s alone has good signatures and is refused for missing collateral', async (path, at) => {
    const verdict = await run(path, noCollateral, at)
    expect(verdict).toMatchObject({ code: 'collateral_missing', last: 'tdx/collateral' })
    expect(verdict.passed).toContain('tdx/quote-signature')
  })

  test('in 2053 the certificates of a quote of 2023 have expired', async () => {
    const verdict = await run(
      'google/tdx_prod_quote_SPR_E4.dat',
      noCollateral,
      '2053-07-01T00:00:00Z',
    )
    expect(verdict.code).toBe('certificate_expired')
  })

  test('collateral of another platform is refused', async () => {
    const other = readPhalaCollateral('tdx_quote_outdated')
    const mismatch = { code: 'collateral_mismatch', last: 'tdx/fmspc' }
    expect(await run('phala/tdx_quote', other, in90c06f)).toMatchObject(mismatch)
    expect(await run('coco/tdx_quote_6.dat', other, in90c06f)).toMatchObject(mismatch)
  })

  test("a root with Intel's name and another key is refused; if pinned, it passes", async () => {
    const path = 'intel-qvl-sample/quote.dat'
    const at = '2022-01-01T00:00:00Z'
    expect(await run(path, noCollateral, at)).toMatchObject({
      code: 'chain_untrusted',
      last: 'tdx/pck-chain/root',
    })
    const [der] = parsePem(readVectorText('tdx/intel-qvl-sample/trustedRootCaCert.pem'))
    const roots = { ...vendorRoots, intel: [await fingerprint(der!)] }
    const pinned = await run(path, noCollateral, at, { roots })
    expect(pinned.code).toBe('collateral_missing')
    expect(pinned.passed).toContain('tdx/quote-signature')
  })

  test('the pinned root is the one that Intel publishes', async () => {
    const path = 'tdx/intel-root/Intel_SGX_Provisioning_Certification_RootCA.pem'
    const [der] = parsePem(readVectorText(path))
    expect(vendorRoots.intel).toEqual([await fingerprint(der!)])
  })

  test.each(['tcb_info', 'qe_identity'] as const)('an edited %s is not signed', async (name) => {
    const collateral = readPhalaCollateral('tdx_quote')
    const edited = collateral[name].replace('"version":', '"version": ')
    const verdict = await run('phala/tdx_quote', { ...collateral, [name]: edited }, inB0c06f)
    expect(verdict.code).toBe('collateral_invalid')
  })

  test.each(['pck_crl', 'root_ca_crl'] as const)('%s must be real', async (name) => {
    const collateral = readPhalaCollateral('tdx_quote')
    const genuine = Uint8Array.fromBase64(collateral[name])
    const badlySigned = new Uint8Array(genuine)
    badlySigned[genuine.length - 1]! ^= 1
    const code = async (value: string) =>
      (await run('phala/tdx_quote', { ...collateral, [name]: value }, inB0c06f)).code
    expect(await code('')).toBe('crl_missing')
    expect(await code(formatBase64(utf8('garbage')))).toBe('crl_invalid')
    expect(await code(formatBase64(badlySigned))).toBe('crl_invalid')
    expect(await code(formatBase64(genuine.subarray(0, 100)))).toBe('crl_invalid')
    const expired = formatBase64(
      readVector(`tdx/google/${name === 'pck_crl' ? 'pckcrl' : 'rootcrl.der'}`),
    )
    expect(await code(expired)).toBe('crl_stale')
  })

  test("the nonce of Google's verifier is in the quote it asked for", async () => {
    const { tdx } = JSON.parse(readVectorText('tdx/teekit/tdx-v4-gcp.json'))
    const [value, issuedAt] = [tdx.verifier_nonce.val, tdx.verifier_nonce.iat].map((text) =>
      Uint8Array.fromBase64(text),
    )
    const expected = await sha512(new Uint8Array([...value!, ...issuedAt!]))
    const { report } = parseQuote(readTdxQuote('teekit/tdx-v4-gcp.json'))
    expect(formatHex(report.reportData)).toBe(formatHex(expected))
  })
})

/** Levels only: no issuer chain or no list of the time was published with these documents. */
function judge(quotePath: string, tcbInfoPath: string) {
  const quote = parseQuote(readTdxQuote(quotePath))
  const [pck] = parseIssuerChain(quote.certificateChain)
  const tcbInfo = parseTcbInfo(utf8(splitSigned(tcbInfoPath, 'tcbInfo').text))
  const identity = splitSigned('google/sample_qeIdentity_response', 'enclaveIdentity').text
  const qeIdentity = parseQeIdentity(utf8(identity))
  const platform = readPckPlatform(pck!)
  expect(formatHex(platform.fmspc)).toBe(formatHex(tcbInfo.fmspc))
  const { report, qeReport } = quote
  return () => evaluateTcb({ report, qeReport, platform, tcbInfo, qeIdentity }, new Transcript())
}

describe('real TCB levels', () => {
  test("Google's quote of 2023 reaches no level of its day: 3.0.4 is below 3.0.5", () => {
    const verdict = judge('google/tdx_prod_quote_SPR_E4.dat', 'google/sample_tcbInfo_response')
    expect(verdict).toThrow(expect.objectContaining({ code: 'tcb_too_old' }))
  })

  test('the debuggable TD ran on a platform that was up to date in 2023, and not in 2025', () => {
    const path = 'coco/tdx_quote_4.dat'
    expect(judge(path, 'google/sample_tcbInfo_response')().status).toBe('UpToDate')
    expect(judge(path, 'teekit/tcbInfo-tdx-50806f000000.json')().status).toBe('OutOfDate')
  })

  test('by the TCB info of 2026 the lab machine has an old module too', () => {
    const quote = parseQuote(readTdxQuote('coco/tdx_quote_5.dat'))
    const tcbInfo = parseTcbInfo(
      utf8(splitSigned('google/sample_tcbinfo_response_v5', 'tcbInfo').text),
    )
    const identity = tcbInfo.moduleIdentities.find(({ id }) => id === 'TDX_01')
    const [minor = 0] = quote.report.teeTcbSvn
    expect(identity?.levels.find(({ isvSvn }) => minor >= isvSvn)?.status).toBe('OutOfDate')
  })

  test("Intel's own documents all parse", () => {
    for (const fmspc of ['00806f050000', '50806f000000', '90c06f000000', 'b0c06f000000']) {
      const { text } = splitSigned(`teekit/tcbInfo-tdx-${fmspc}.json`, 'tcbInfo')
      expect(formatHex(parseTcbInfo(utf8(text)).fmspc)).toBe(fmspc)
    }
  })
})
