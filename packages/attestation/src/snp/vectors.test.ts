/** Real reports: each gets the verdict that the README next to it states. */
import { describe, expect, test } from 'bun:test'
import { formatBase64, parseBase64, parseHex } from '../bytes.ts'
import type { AuthenticityContext, SnpEvidence } from '../evidence.ts'
import { vendorRoots } from '../roots.ts'
import { expectRefusal } from '../testing/snp-refusal.ts'
import { amdCrl, realEvidence, snpFile, snpPem } from '../testing/snp-vectors.ts'
import { type AttestationErrorCode, Transcript } from '../verdict.ts'
import { parseCertificate } from '../x509/certificate.ts'
import { appraiseSnpWithoutManifest } from './appraise.ts'
import { authenticateSnp } from './authenticate.ts'
import { parseEndorsement } from './endorsement.ts'

const { google, virtee, cocoMilan, microsoft, cocoAzure, openpcc, cocoSiena, dstack } = realEvidence

// Within the windows of both lists, and of every certificate but one.
const july2025 = new Date('2025-07-01T00:00:00Z')
const context = (at: Date): AuthenticityContext => ({
  roots: vendorRoots,
  revocation: { allowUnknown: false, revokedGraceHours: 0 },
  at,
})

async function verify(evidence: SnpEvidence) {
  const transcript = new Transcript()
  const claims = await authenticateSnp(evidence, context(july2025), transcript)
  expect(transcript.checks.filter(({ result }) => result !== 'passed')).toEqual([])
  return claims
}

const refused = (evidence: SnpEvidence, code: AttestationErrorCode, at = july2025) =>
  expectRefusal(evidence, context(at), code)

describe('a real report is authentic', () => {
  test('of Milan (google), whose guest may be debugged and is therefore refused', async () => {
    const claims = await verify(google())
    expect(claims).toMatchObject({ product: 'Milan', signer: 'vcek', reportVersion: 2 })
    expect(() => appraiseSnpWithoutManifest(claims, new Transcript())).toThrow(
      expect.objectContaining({ code: 'debug_enabled' }),
    )
  })

  test('of Milan (virtee)', async () => {
    const claims = await verify(virtee())
    appraiseSnpWithoutManifest(claims, new Transcript())
    expect(claims.tcb.reported).toEqual({ bootloader: 3, tee: 0, snp: 8, microcode: 115 })
  })

  test('of Milan (coco), whose current TCB is newer than the reported one', async () => {
    const claims = await verify(cocoMilan())
    expect(claims.tcb.reported.microcode).toBe(115)
    expect(claims.tcb.current.microcode).toBe(206)
  })

  test('of Milan (microsoft), with host data', async () => {
    const { hostData } = await verify(microsoft())
    expect([hostData.slice(0, 8), hostData.slice(-4)]).toEqual(['cadd74f7', '031c'])
  })

  test('of Genoa (coco on azure, openpcc)', async () => {
    expect(await verify(cocoAzure())).toMatchObject({ product: 'Genoa', reportVersion: 3 })
    expect(await verify(openpcc())).toMatchObject({ product: 'Genoa', reportVersion: 3 })
  })

  test('of Siena (coco end to end), certified as Genoa', async () => {
    expect(await verify(cocoSiena())).toMatchObject({ product: 'Genoa', reportVersion: 3 })
  })

  test('of Milan (dstack) except for revocation, since no list of its time is available', async () => {
    const at = new Date('2026-07-01T00:00:00Z')
    const stale = await refused(dstack([amdCrl('milan')]), 'crl_stale', at)
    const missing = await refused(dstack([]), 'crl_missing', at)
    for (const checks of [stale, missing]) {
      expect(checks.map(({ id }) => id)).toContain('snp/chip-id')
      expect(checks.at(-1)?.id).toStartWith('snp/crl/')
    }
  })
})

describe('a real certificate', () => {
  test('of Turin has an FMC level and a chip id of eight bytes', () => {
    const endorsement = parseEndorsement(parseCertificate(snpFile('virtee-turin/vcek.der')))
    expect(endorsement.product).toBe('Turin')
    expect(endorsement.tcb).toEqual({ fmc: 0, bootloader: 0, tee: 0, snp: 0, microcode: 9 })
    const chipId = parseHex('1e550a8ee5cf9f4d')!
    expect(endorsement.holder).toEqual({ kind: 'vcek', chipId })
  })

  test('may wrap the chip id in an octet string', () => {
    const der = snpFile('coco-milan/test-vcek-invalid-new.der')
    const { holder } = parseEndorsement(parseCertificate(der))
    const chipId = Uint8Array.from({ length: 64 }, (_, index) => index)
    expect(holder).toEqual({ kind: 'vcek', chipId })
  })
})

describe('a real report is refused', () => {
  test('with a certificate that AMD did not sign', async () => {
    await refused(cocoMilan('test-vcek-invalid-legacy.der'), 'signature_invalid')
    await refused(cocoMilan('test-vcek-invalid-new.der'), 'signature_invalid')
  })

  test('with the intermediate or the root of another kind or product', async () => {
    const evidence = google()
    for (const path of [
      'amd-roots/ask_ark_milan_vlek.pem',
      'amd-roots/ask_ark_genoa.pem',
      'amd-roots/ask_ark_turin_vcek.pem',
    ]) {
      const certificates = [evidence.certificates[0]!, ...snpPem(path).map(formatBase64)]
      await refused({ ...evidence, certificates }, 'chain_mismatch')
    }
  })

  test('with the certificate of another chip of the same product', async () => {
    const { certificates } = virtee()
    await refused({ ...cocoMilan(), certificates }, 'signature_invalid')
  })

  test('before and after its certificate is valid', async () => {
    await refused(google(), 'certificate_expired', new Date('2022-09-23'))
    await refused(google(), 'certificate_expired', new Date('2029-09-25'))
  })

  test('without a list, with another product’s, and with a stale or empty one', async () => {
    await refused({ ...virtee(), crls: [] }, 'crl_missing')
    await refused({ ...virtee(), crls: [formatBase64(amdCrl('genoa'))] }, 'crl_missing')
    await refused(virtee(), 'crl_stale', new Date('2026-06-01'))
    await refused(cocoAzure(), 'crl_stale', new Date('2025-12-01'))
    await refused({ ...virtee(), crls: [''] }, 'crl_invalid')
  })

  test('if truncated, of another version, or with any byte changed', async () => {
    const report = parseBase64(virtee().report)!
    const changed = (offset: number, value: number) => {
      const copy = Uint8Array.from(report)
      copy[offset] = value
      return { ...virtee(), report: formatBase64(copy) }
    }
    const cut = { ...virtee(), report: formatBase64(report.subarray(0, 1183)) }
    await refused(cut, 'evidence_malformed')
    await refused(changed(0, 1), 'evidence_unsupported')
    await refused(changed(0, 99), 'evidence_unsupported')
    await refused(changed(0x90, report[0x90]! ^ 1), 'signature_invalid')
    await refused(changed(0x1a0, report[0x1a0]! ^ 1), 'signature_invalid')
    await refused(changed(0x2a0 + 60, 1), 'evidence_malformed')
  })
})
