/** Authenticates SEV-SNP evidence: AMD certified the chip, and the chip signed the report. */
import { type Bytes, concatBytes, equalBytes, formatHex, isZero, parseBase64 } from '../bytes.ts'
import type { AuthenticityContext, SnpEvidence } from '../evidence.ts'
import type { Transcript } from '../verdict.ts'
import { type Certificate, parseCertificate } from '../x509/certificate.ts'
import { describe, isSignedBy, verifyChain } from '../x509/chain.ts'
import {
  parseCrl,
  readCrlClaims,
  requireUnlisted,
  type VerifiedCrl,
  verifyCrl,
} from '../x509/crl.ts'
import { verifySignature } from '../x509/signature.ts'
import { readClaims, type SnpClaims } from './claims.ts'
import { type Endorsement, issuerNameOf, parseEndorsement } from './endorsement.ts'
import { formatTcb, parseTcb, productOfCpu } from './product.ts'
import { parseSnpReport, type SnpReport } from './report.ts'

const maxCertificates = 8
const maxCrls = 8

/** A report whose signature and signer are verified; revocation of the signer is still to be checked. */
export type AuthenticSnpReport = { readonly claims: SnpClaims; readonly chain: Chain }

/**
 * Verifies everything that does not depend on the relying party's policy: whether the debug bit is
 * set, for example, is left to `appraiseSnp`. Revocation comes last, so a refusal for a missing or
 * stale list means that everything else was in order.
 */
export async function authenticateSnp(
  evidence: SnpEvidence,
  context: AuthenticityContext,
  transcript: Transcript,
): Promise<SnpClaims> {
  const { claims, chain } = await authenticateSnpReport(evidence, context, transcript)
  const crl = await requireUnrevokedSnp(chain, evidence, context, transcript)
  return { ...claims, crl: readCrlClaims(crl, context.at) }
}

/** Verifies who made the report; for inspecting evidence that came without a revocation list. */
export async function authenticateSnpReport(
  evidence: SnpEvidence,
  context: AuthenticityContext,
  transcript: Transcript,
): Promise<AuthenticSnpReport> {
  const reportBytes = decode(evidence.report, 'report', transcript)
  const report = transcript.attempt('snp/report', () => parseSnpReport(reportBytes))
  transcript.pass('snp/report', `version ${report.version}, signed by a ${report.signer}`)

  const chain = await arrangeChain(evidence, transcript)
  const { leaf, intermediate, root } = chain
  const trust = { rootFingerprints: context.roots.amd, at: context.at }
  await verifyChain([leaf, intermediate, root], trust, transcript, 'snp/chain')

  const endorsement = transcript.attempt('snp/endorsement', () => parseEndorsement(leaf))
  transcript.pass('snp/endorsement', `${endorsement.holder.kind} of ${endorsement.product}`)
  requireSameSigner(report, endorsement, intermediate, transcript)
  await requireReportSignature(report, leaf, transcript)
  requireSameProduct(report, endorsement, transcript)
  const claims = transcript.attempt('snp/tcb-format', () => readClaims(report, endorsement))
  requireSameTcb(report, endorsement, transcript)
  requireSameChip(report, endorsement, transcript)
  return { claims, chain }
}

async function requireUnrevokedSnp(
  { intermediate, root }: Chain,
  evidence: SnpEvidence,
  context: AuthenticityContext,
  transcript: Transcript,
): Promise<VerifiedCrl> {
  const list = findCrl(evidence, root, transcript)
  const crl = await verifyCrl(list, root, context.at, transcript, 'snp/crl')
  requireUnlisted(crl, intermediate, transcript, 'snp/revocation')
  return crl
}

type Chain = {
  readonly leaf: Certificate
  readonly intermediate: Certificate
  readonly root: Certificate
}

/** Orders certificates that may come in any order, possibly mixed with those of other products. */
async function arrangeChain(evidence: SnpEvidence, transcript: Transcript): Promise<Chain> {
  const id = 'snp/certificates'
  const { length } = evidence.certificates
  if (length > maxCertificates) {
    transcript.fail(id, 'evidence_malformed', `${length} certificates, limit ${maxCertificates}`)
  }
  const all = evidence.certificates
    .map((text) => decode(text, 'certificate', transcript))
    .map((der) => transcript.attempt(id, () => parseCertificate(der)))
  const leaves = all.filter((certificate) => !certificate.isCa)
  const [leaf] = leaves
  if (!leaf || leaves.length > 1) {
    const detail = `${leaves.length} of ${length} are no authorities, expected exactly one`
    return transcript.fail(id, 'chain_mismatch', detail)
  }
  const intermediate = await findIssuer(leaf, all)
  const root = intermediate && (await findIssuer(intermediate, all))
  if (!root) {
    const below = intermediate ?? leaf
    return transcript.fail(id, 'chain_mismatch', `the issuer of ${describe(below)} is missing`)
  }
  transcript.pass(id, [leaf, intermediate, root].map(describe).join(' < '))
  return { leaf, intermediate, root }
}

/** By name; among several with the same name, the one whose key signed. The chain is verified later. */
async function findIssuer(
  certificate: Certificate,
  among: readonly Certificate[],
): Promise<Certificate | undefined> {
  const named = among.filter((other) => equalBytes(other.subject, certificate.issuer))
  if (named.length > 1) {
    for (const candidate of named) if (await isSignedBy(certificate, candidate)) return candidate
  }
  return named[0]
}

function requireSameSigner(
  report: SnpReport,
  endorsement: Endorsement,
  intermediate: Certificate,
  transcript: Transcript,
): void {
  const expectedIssuer = issuerNameOf(report.signer, endorsement.product)
  transcript.require(
    report.signer === endorsement.holder.kind && intermediate.commonName === expectedIssuer,
    'snp/signer',
    'certificate_mismatch',
    `report names a ${report.signer}, certificate is a ${endorsement.holder.kind} by ${describe(intermediate)}, expected ${expectedIssuer}`,
  )
}

async function requireReportSignature(
  report: SnpReport,
  leaf: Certificate,
  transcript: Transcript,
): Promise<void> {
  const algorithm = { kind: 'ecdsa', hash: 'SHA-384', encoding: 'raw' } as const
  transcript.require(
    await verifySignature(leaf.spki, algorithm, report.signedPart, report.signature),
    'snp/report-signature',
    'signature_invalid',
    `the report must be signed by ${describe(leaf)} (ECDSA P-384, SHA-384)`,
  )
}

function requireSameProduct(
  report: SnpReport,
  { product }: Endorsement,
  transcript: Transcript,
): void {
  if (!report.cpu) {
    transcript.pass('snp/product', `${product} by the certificate; version 2 names no processor`)
    return
  }
  const { family, model } = report.cpu
  transcript.require(
    productOfCpu(family, model) === product,
    'snp/product',
    'certificate_mismatch',
    `processor is family 0x${family.toString(16)} model 0x${model.toString(16)}, certificate is of ${product}`,
  )
}

// REPORTED_TCB specifically: the key is derived from it, and the current TCB may be newer.
function requireSameTcb(
  report: SnpReport,
  { product, tcb }: Endorsement,
  transcript: Transcript,
): void {
  const reported = formatTcb(parseTcb(report.reportedTcb, product))
  transcript.require(
    reported === formatTcb(tcb),
    'snp/reported-tcb',
    'certificate_mismatch',
    `reported TCB is ${reported}, certificate is for ${formatTcb(tcb)}`,
  )
}

function requireSameChip(report: SnpReport, { holder }: Endorsement, transcript: Transcript): void {
  const id = 'snp/chip-id'
  const seen = `chip id is ${formatHex(report.chipId)}`
  if (holder.kind === 'vlek') {
    // A VLEK belongs to a provider, not to a chip, and firmware need not mask the chip id.
    if (isZero(report.chipId)) transcript.pass(id, 'masked, beside a vlek')
    else transcript.skip(id, `${seen}; a vlek is certified for no chip`)
    return
  }
  const padding = new Uint8Array(report.chipId.length - holder.chipId.length)
  transcript.require(
    equalBytes(report.chipId, concatBytes(holder.chipId, padding)),
    id,
    'certificate_mismatch',
    `${seen}, certificate is of ${formatHex(holder.chipId)}`,
  )
}

/** The root's newest list; lists of other issuers may be present too, garbage may not. */
function findCrl(
  evidence: SnpEvidence,
  root: Certificate,
  transcript: Transcript,
): Bytes | undefined {
  const id = 'snp/crl/present'
  if (evidence.crls.length > maxCrls) {
    transcript.fail(id, 'evidence_malformed', `${evidence.crls.length} lists, limit ${maxCrls}`)
  }
  const own = evidence.crls
    .map((text) => decode(text, 'revocation list', transcript))
    .map((der) => ({ der, crl: transcript.attempt(id, () => parseCrl(der)) }))
    .filter(({ crl }) => equalBytes(crl.issuer, root.subject))
  own.sort((a, b) => b.crl.thisUpdate.getTime() - a.crl.thisUpdate.getTime())
  return own[0]?.der
}

function decode(text: string, what: string, transcript: Transcript): Bytes {
  const bytes = parseBase64(text)
  return bytes ?? transcript.fail('snp/encoding', 'evidence_malformed', `${what} is not base64`)
}
