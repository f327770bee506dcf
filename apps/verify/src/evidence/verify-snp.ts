/** AMD SEV-SNP: finds the certificates and lists that belong to a report. */
import {
  appraiseSnp,
  appraiseSnpWithoutManifest,
  authenticateSnp,
  authenticateSnpReport,
  type SnpClaims,
  type SnpEvidence,
  type Transcript,
} from '@privatemode/attestation'
import {
  type Certificate,
  parseEndorsement,
  parseSnpReport,
  readSnpClaims,
} from '@privatemode/attestation/inspect'
import { type Bytes, bytesOf } from '../files/piece.ts'
import { appraiseByRules, workerRules } from './appraise-by-rules.ts'
import { type Inputs, sameBytes, toBase64, tryCertificate, tryCrl } from './inputs.ts'
import { requireReportData } from './report-data.ts'
import type { Verifier } from './verifier.ts'

export const snpVerifier: Verifier<SnpEvidence, SnpClaims> = {
  findReports: ({ report }) => bytesOf(report, 'snp-report'),
  assemble,
  authenticate: async (evidence, inputs, transcript) => {
    const claims = await authenticate(evidence, inputs, transcript)
    requireReportData('snp', claims.reportData, inputs.nonce, transcript)
    return claims
  },
  requireAlways: appraiseSnpWithoutManifest,
  inspect,
  appraise: (claims, inputs, transcript) => {
    const rules = workerRules(inputs).flatMap((one) => (one.kind === 'snp' ? [one.rule] : []))
    appraiseByRules('snp', rules, transcript, (rule, attempt) => appraiseSnp(claims, rule, attempt))
  },
}

/**
 * A worker must staple a revocation list, and so must evidence appraised by a manifest. On its own,
 * evidence may come without one: this is reported, and never counted as a pass.
 */
async function authenticate(
  evidence: SnpEvidence,
  inputs: Inputs,
  transcript: Transcript,
): Promise<SnpClaims> {
  const hasLists = bytesOf(inputs.all, 'crl').length > 0
  if (hasLists || inputs.manifest !== undefined) {
    return authenticateSnp(evidence, inputs.context, transcript)
  }
  const { claims } = await authenticateSnpReport(evidence, inputs.context, transcript)
  transcript.skip('snp/revocation', 'no revocation list was given; a worker without one is refused')
  return claims
}

/** One variant for each certificate that could be the chip's. */
function assemble(report: Bytes, inputs: Inputs): SnpEvidence[] {
  const files = bytesOf(inputs.all, 'certificate')
  const certificates = files.flatMap((bytes) => tryCertificate(bytes) ?? [])
  const broken = files.filter((bytes) => tryCertificate(bytes) === undefined)
  const leaves = certificates.filter(({ isCa }) => !isCa)
  return (leaves.length > 0 ? leaves : [undefined]).map((leaf) => {
    const authorities = authoritiesOf(leaf, certificates)
    const chain = [...broken, ...(leaf ? [leaf.der] : []), ...authorities.map(({ der }) => der)]
    return {
      kind: 'snp',
      report: toBase64(report),
      certificates: chain.map(toBase64),
      crls: listsOf(authorities, inputs).map(toBase64),
    }
  })
}

/** By name: the leaf's issuers and theirs; all of them if no name matches. */
function authoritiesOf(
  leaf: Certificate | undefined,
  certificates: readonly Certificate[],
): Certificate[] {
  const authorities = certificates.filter(({ isCa }) => isCa)
  if (leaf === undefined) return authorities.slice(0, 7)
  const issuers = (of: readonly Certificate[]) =>
    authorities.filter(({ subject }) => of.some(({ issuer }) => sameBytes(subject, issuer)))
  const intermediates = issuers([leaf])
  const chain = [...new Set([...intermediates, ...issuers(intermediates)])]
  return chain.length > 0 ? chain : authorities.slice(0, 7)
}

/** Lists of these authorities, and anything given as a list that is not one. */
function listsOf(authorities: readonly Certificate[], inputs: Inputs): Bytes[] {
  return bytesOf(inputs.all, 'crl').filter((bytes) => {
    const crl = tryCrl(bytes)
    return crl === undefined || authorities.some(({ subject }) => sameBytes(subject, crl.issuer))
  })
}

function inspect(evidence: SnpEvidence): unknown {
  try {
    const report = parseSnpReport(new Uint8Array(Buffer.from(evidence.report, 'base64')))
    const { policy, platformInfo, signedPart: _part, signature: _signature, ...fields } = report
    const bare = {
      ...fields,
      policy: `0x${policy.toString(16)}`,
      platformInfo: `0x${platformInfo.toString(16)}`,
    }
    return tryClaims(evidence, report) ?? bare
  } catch {
    return {}
  }
}

/** In the product's terms, if a certificate names the product. */
function tryClaims(
  { certificates }: SnpEvidence,
  report: ReturnType<typeof parseSnpReport>,
): unknown {
  for (const text of certificates) {
    const certificate = tryCertificate(new Uint8Array(Buffer.from(text, 'base64')))
    if (certificate === undefined || certificate.isCa) continue
    try {
      return readSnpClaims(report, parseEndorsement(certificate))
    } catch {
      // not a chip's certificate
    }
  }
  return undefined
}
