/** Decides whether TDX evidence is authentic: from genuine hardware whose TCB Intel has evaluated. */
import { type Bytes, concatBytes, equalBytes, formatHex, parseBase64, parseHex } from '../bytes.ts'
import { sha256 } from '../digest.ts'
import type { AuthenticityContext, TdxEvidence } from '../evidence.ts'
import { AttestationError, type Transcript } from '../verdict.ts'
import type { Certificate } from '../x509/certificate.ts'
import { readCrlClaims, requireUnlisted, type VerifiedCrl, verifyCrl } from '../x509/crl.ts'
import { verifySignature } from '../x509/signature.ts'
import { readQuoteClaims, type TdxClaims, type TdxPlatformClaims } from './claims.ts'
import { ecdsaP256, requireCollateral, verifyCollateral } from './collateral.ts'
import { parseIssuerChain, verifyIssuerChain } from './issuer-chain.ts'
import { type PckPlatform, readPckPlatform } from './pck-certificate.ts'
import { parseQuote, type TdxQuote } from './quote.ts'
import { evaluateTcb } from './tcb.ts'
import type { TcbInfo } from './tcb-info.ts'

/**
 * The quote's own signatures are checked first, and its collateral after that: a transcript of
 * evidence without collateral still shows whether the quote itself is genuine.
 */
export async function authenticateTdx(
  evidence: TdxEvidence,
  context: AuthenticityContext,
  transcript: Transcript,
): Promise<TdxClaims> {
  const { collateral } = evidence
  const quote = transcript.attempt('tdx/quote', () => parseQuote(decode(evidence.quote, 'quote')))
  transcript.pass('tdx/quote', `version ${quote.version}, ${quote.signedPart.length} bytes signed`)
  const chain = await verifyPckChain(quote, context, transcript)
  await verifyQuoteSignatures(quote, chain.pck, transcript)
  requireProtectedTd(quote, transcript)

  requireCollateral(collateral, transcript)
  const crls = {
    root: transcript.attempt('tdx/root-crl', () => decodeCrl(collateral.root_ca_crl)),
    pck: transcript.attempt('tdx/pck-crl', () => decodeCrl(collateral.pck_crl)),
  }
  const { at } = context
  const rootCrl = await verifyCrl(crls.root, chain.root, at, transcript, 'tdx/root-crl')
  const pckCrl = await verifyCrl(crls.pck, chain.intermediate, at, transcript, 'tdx/pck-crl')
  requireNotRevoked(chain, rootCrl, pckCrl, transcript)

  const verified = await verifyCollateral(collateral, rootCrl, context, transcript)
  const { tcbInfo, qeIdentity } = verified
  const platform = transcript.attempt('tdx/pck-extension', () => readPckPlatform(chain.pck))
  requireSamePlatform(platform, tcbInfo, transcript)
  const { report, qeReport } = quote
  const tcb = evaluateTcb({ report, qeReport, platform, tcbInfo, qeIdentity }, transcript)
  const claims: TdxPlatformClaims = {
    ...readQuoteClaims(quote),
    fmspc: formatHex(platform.fmspc),
    pceId: formatHex(platform.pceId),
    platformIds: [platform.ppid, platform.platformInstanceId].flatMap((id) =>
      id === undefined ? [] : [formatHex(id)],
    ),
    crls: { root: readCrlClaims(rootCrl, at), pck: readCrlClaims(pckCrl, at) },
    tcb,
  }
  return claims as TdxClaims
}

type PckChain = {
  readonly pck: Certificate
  readonly intermediate: Certificate
  readonly root: Certificate
}

async function verifyPckChain(
  quote: TdxQuote,
  context: AuthenticityContext,
  transcript: Transcript,
): Promise<PckChain> {
  const id = 'tdx/pck-chain'
  const certificates = transcript.attempt(id, () => parseIssuerChain(quote.certificateChain))
  const chain = await verifyIssuerChain(certificates, 3, context, transcript, id)
  const [pck, intermediate, root] = chain
  return { pck, intermediate, root }
}

/** Platform key → quoting enclave → attestation key → quote. */
async function verifyQuoteSignatures(
  quote: TdxQuote,
  pck: Certificate,
  transcript: Transcript,
): Promise<void> {
  const { qeReport, attestationKey, qeAuthData } = quote
  transcript.require(
    await verifySignature(pck.spki, ecdsaP256, qeReport.bytes, quote.qeReportSignature),
    'tdx/qe-report-signature',
    'signature_invalid',
    'the QE report must be signed by the PCK key',
  )
  const digest = await sha256(concatBytes(attestationKey, qeAuthData))
  transcript.require(
    equalBytes(qeReport.reportData, concatBytes(digest, new Uint8Array(32))),
    'tdx/attestation-key',
    'signature_invalid',
    'the QE report must hold SHA-256(attestation key, auth data), then zeros',
  )
  const key = p256PublicKey(attestationKey)
  transcript.require(
    await verifySignature(key, ecdsaP256, quote.signedPart, quote.signature),
    'tdx/quote-signature',
    'signature_invalid',
    'header and body must be signed by the attestation key',
  )
}

/** A TD that the host may read or migrate proves nothing, whatever else is in order. */
function requireProtectedTd({ report }: TdxQuote, transcript: Transcript): void {
  const attributes = formatHex(report.tdAttributes)
  const [debug = 0xff, , , security = 0xff] = report.tdAttributes
  transcript.require(
    debug === 0,
    'tdx/debug',
    'debug_enabled',
    `td_attributes ${attributes}, bits 0 to 7 (debug) must be clear`,
  )
  transcript.require(
    (security & 0x20) === 0,
    'tdx/migration',
    'migration_enabled',
    `td_attributes ${attributes}, bit 29 (migratable) must be clear`,
  )
}

function requireNotRevoked(
  chain: PckChain,
  rootCrl: VerifiedCrl,
  pckCrl: VerifiedCrl,
  transcript: Transcript,
): void {
  requireUnlisted(rootCrl, chain.intermediate, transcript, 'tdx/intermediate-revocation')
  requireUnlisted(pckCrl, chain.pck, transcript, 'tdx/pck-revocation')
}

/** TCB info for another platform says nothing about this one. */
function requireSamePlatform(platform: PckPlatform, tcbInfo: TcbInfo, transcript: Transcript) {
  transcript.require(
    equalBytes(platform.fmspc, tcbInfo.fmspc),
    'tdx/fmspc',
    'collateral_mismatch',
    `platform has FMSPC ${formatHex(platform.fmspc)}, TCB info is for ${formatHex(tcbInfo.fmspc)}`,
  )
  transcript.require(
    equalBytes(platform.pceId, tcbInfo.pceId),
    'tdx/pce-id',
    'collateral_mismatch',
    `platform has PCEID ${formatHex(platform.pceId)}, TCB info is for ${formatHex(tcbInfo.pceId)}`,
  )
}

/** SubjectPublicKeyInfo of a P-256 point given as x and y (RFC 5480). */
function p256PublicKey(point: Bytes): Bytes {
  const head = parseHex('3059301306072a8648ce3d020106082a8648ce3d03010703420004')
  return concatBytes(head ?? new Uint8Array(), point)
}

function decode(base64: string, what: string): Bytes {
  const bytes = parseBase64(base64)
  if (bytes === undefined) throw new AttestationError('evidence_malformed', `${what} is not base64`)
  return bytes
}

/** An empty list counts as missing. */
function decodeCrl(base64: string): Bytes | undefined {
  if (base64 === '') return undefined
  const bytes = parseBase64(base64)
  if (bytes === undefined) throw new AttestationError('crl_invalid', 'the list is not base64')
  return bytes
}
