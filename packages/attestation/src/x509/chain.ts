/** Verifies a certificate chain up to a root that is pinned by fingerprint (RFC 5280, 6.1). */
import { equalBytes } from '../bytes.ts'
import type { Transcript } from '../verdict.ts'
import { type Certificate, extensionOids, fingerprint } from './certificate.ts'
import { verifySignature } from './signature.ts'

export type ChainTrust = {
  /** SHA-256 (hex) of the DER of every trusted root. */
  readonly rootFingerprints: readonly string[]
  readonly at: Date
  /** Critical extensions that the caller evaluates itself, by OID. */
  readonly handledCriticalExtensions?: readonly string[]
}

const maxChainLength = 8
const understood: readonly string[] = [
  extensionOids.basicConstraints,
  extensionOids.keyUsage,
  extensionOids.extendedKeyUsage,
]

/** A leaf, its issuer, and so on up to a pinned root. */
export type VerifiedChain = readonly [Certificate, Certificate, ...Certificate[]]

/**
 * Verifies `leafFirst`, from leaf to root, including the root. The root is recognised by its bytes
 * alone: a name proves nothing. Refuses through `transcript`, with check ids under `idPrefix`.
 */
export async function verifyChain(
  leafFirst: readonly Certificate[],
  trust: ChainTrust,
  transcript: Transcript,
  idPrefix: string,
): Promise<VerifiedChain> {
  const root = leafFirst[leafFirst.length - 1]
  if (!root || leafFirst.length < 2 || leafFirst.length > maxChainLength) {
    const detail = `chain has ${leafFirst.length} certificates, expected 2 to ${maxChainLength}`
    transcript.fail(`${idPrefix}/length`, 'chain_mismatch', detail)
  }
  const print = await fingerprint(root.der)
  transcript.require(
    trust.rootFingerprints.includes(print),
    `${idPrefix}/root`,
    'chain_untrusted',
    `root ${describe(root)} has SHA-256 ${print}, which must be pinned`,
  )
  for (const [index, certificate] of leafFirst.entries()) {
    const id = `${idPrefix}/${index}`
    const issuer = leafFirst[index + 1] ?? root
    requireKnownExtensions(certificate, trust, transcript, `${id}/extensions`)
    requireValidity(certificate, trust.at, transcript, `${id}/validity`)
    requireIssuer(certificate, issuer, index, transcript, `${id}/issuer`)
    await requireSignedBy(certificate, issuer, transcript, `${id}/signature`)
  }
  return leafFirst as VerifiedChain // of at least two, as checked above
}

/** Refuses a certificate outside its validity; also used for responders that are not in a chain. */
export function requireValidity(
  certificate: Certificate,
  at: Date,
  transcript: Transcript,
  id: string,
): void {
  const { notBefore, notAfter } = certificate
  transcript.require(
    isWithin(at, notBefore, notAfter),
    id,
    'certificate_expired',
    `${describe(certificate)} is valid ${notBefore.toISOString()} to ${notAfter.toISOString()}, time is ${formatTime(at)}`,
  )
}

/** Both ends included; an invalid date is never within. */
export const isWithin = (at: Date, from: Date, until: Date): boolean => at >= from && at <= until

/** Formats an invalid Date as such instead of throwing. */
export const formatTime = (at: Date): string =>
  Number.isNaN(at.getTime()) ? 'invalid' : at.toISOString()

/** How messages refer to a certificate. */
export const describe = (certificate: Certificate): string =>
  `"${certificate.commonName ?? ''}" (serial ${certificate.serialHex})`

/** Whether `issuer` may certify others, and its key signed this certificate. */
export const isSignedBy = (certificate: Certificate, issuer: Certificate): Promise<boolean> =>
  verifySignature(
    issuer.spki,
    certificate.signatureAlgorithm,
    certificate.tbs,
    certificate.signature,
  )

/** OIDs of critical extensions that neither this file nor the caller evaluates. */
export function unknownCriticalExtensions(
  certificate: Certificate,
  handled: readonly string[] = [],
): string[] {
  return [...certificate.extensions]
    .filter(([, extension]) => extension.critical)
    .map(([oid]) => oid)
    .filter((oid) => !understood.includes(oid) && !handled.includes(oid))
}

function requireKnownExtensions(
  certificate: Certificate,
  trust: ChainTrust,
  transcript: Transcript,
  id: string,
): void {
  const unknown = unknownCriticalExtensions(certificate, trust.handledCriticalExtensions)
  transcript.require(
    unknown.length === 0,
    id,
    'chain_mismatch',
    `${describe(certificate)} has unknown critical extensions: ${unknown.join(', ') || 'none'}`,
  )
}

function requireIssuer(
  certificate: Certificate,
  issuer: Certificate,
  intermediatesBelow: number,
  transcript: Transcript,
  id: string,
): void {
  const refuse = (detail: string): never =>
    transcript.fail(id, 'chain_mismatch', `${describe(issuer)} ${detail}`)
  if (!equalBytes(certificate.issuer, issuer.subject)) {
    refuse(`is not the issuer that ${describe(certificate)} names`)
  }
  if (!issuer.isCa) refuse('is not a certificate authority')
  if (issuer.keyUsage && !issuer.keyUsage.has('keyCertSign')) refuse('may not sign certificates')
  // The root signs itself too, and that self-issued step does not count (RFC 5280, 6.1.4).
  const below = certificate === issuer ? intermediatesBelow - 1 : intermediatesBelow
  if (issuer.pathLength !== undefined && below > issuer.pathLength) {
    refuse(`allows ${issuer.pathLength} intermediates below it, the chain has ${below}`)
  }
  transcript.pass(id, `${describe(certificate)} names ${describe(issuer)}`)
}

async function requireSignedBy(
  certificate: Certificate,
  issuer: Certificate,
  transcript: Transcript,
  id: string,
): Promise<void> {
  transcript.require(
    await isSignedBy(certificate, issuer),
    id,
    'signature_invalid',
    `signature over ${describe(certificate)} must be by ${describe(issuer)}`,
  )
}
