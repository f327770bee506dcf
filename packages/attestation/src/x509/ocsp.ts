/** Revocation by OCSP (RFC 6960): what a response proves, and how the two vendor flags treat it. */
import { type Bytes, equalBytes } from '../bytes.ts'
import { parseDer } from '../der/der-reader.ts'
import type { RevocationPolicy } from '../evidence.ts'
import { notChecked, revokedInGrace } from '../revocation-state.ts'
import { AttestationError, type Transcript } from '../verdict.ts'
import type { Certificate } from './certificate.ts'
import { describe, formatTime, isSignedBy, isWithin, unknownCriticalExtensions } from './chain.ts'
import {
  type BasicOcspResponse,
  type CertId,
  type OcspAnswer,
  parseOcspResponse,
  type ResponderId,
} from './ocsp-response.ts'
import { verifySignature } from './signature.ts'

/** Three-valued: anything but a proven, fresh "good" or "revoked" is unknown, with the reason. */
export type RevocationStatus =
  | { readonly kind: 'good' }
  | { readonly kind: 'unknown'; readonly reason: string }
  /** `reason` is a CRLReason (RFC 5280, 5.3.1), for display: all reasons are treated the same. */
  | { readonly kind: 'revoked'; readonly at: Date; readonly reason: number | undefined }

const ocspSigningOid = '1.3.6.1.5.5.7.3.9'

/**
 * What the stapled responses prove about `certificate`, which `issuer` issued and whose chain the
 * caller has verified. One proven "revoked" outweighs any number of "good".
 */
export async function readRevocationStatus(
  responses: readonly Bytes[],
  certificate: Certificate,
  issuer: Certificate,
  at: Date,
  maxAgeHours?: number,
): Promise<RevocationStatus> {
  const statuses: RevocationStatus[] = []
  for (const der of responses) {
    statuses.push(await readOneStatus(der, certificate, issuer, at, maxAgeHours))
  }
  const reasons = statuses.flatMap((status) => (status.kind === 'unknown' ? [status.reason] : []))
  return (
    statuses.find((status) => status.kind === 'revoked') ??
    statuses.find((status) => status.kind === 'good') ?? {
      kind: 'unknown',
      reason: [...new Set(reasons)].join('; ') || 'no response',
    }
  )
}

export type RevocationVerdict =
  | { readonly accepted: true; readonly tolerated: boolean; readonly detail: string }
  | {
      readonly accepted: false
      readonly code: 'revocation_unknown' | 'certificate_revoked'
      readonly detail: string
    }

/** Implements `--vendorOCSPAllowUnknown` and `--vendorOCSPRevokedGracePeriod`, and nothing else. */
export function judgeRevocation(
  status: RevocationStatus,
  policy: RevocationPolicy,
  at: Date,
): RevocationVerdict {
  switch (status.kind) {
    case 'good':
      return { accepted: true, tolerated: false, detail: 'good' }
    case 'unknown': {
      const detail = `unknown: ${status.reason}`
      if (policy.allowUnknown) {
        return { accepted: true, tolerated: true, detail: `${notChecked}: ${status.reason}` }
      }
      return { accepted: false, code: 'revocation_unknown', detail }
    }
    case 'revoked': {
      const hours = policy.revokedGraceHours
      const detail = `revoked at ${formatTime(status.at)} (reason ${status.reason ?? 'not stated'}), grace is ${hours} hours, time is ${formatTime(at)}`
      const end = status.at.getTime() + hours * 3_600_000
      // Written so that zero, a negative or an invalid number of hours, and an invalid time all
      // refuse.
      const inGrace = Number.isFinite(hours) && hours > 0 && at.getTime() < end
      if (inGrace) {
        return { accepted: true, tolerated: true, detail: `${revokedInGrace}: ${detail}` }
      }
      return { accepted: false, code: 'certificate_revoked', detail }
    }
  }
}

/**
 * Evaluates a status and records it. A status that is merely tolerated is recorded as skipped, not
 * as passed.
 */
export function requireNotRevoked(
  status: RevocationStatus,
  policy: RevocationPolicy,
  at: Date,
  transcript: Transcript,
  id: string,
): void {
  const verdict = judgeRevocation(status, policy, at)
  if (!verdict.accepted) transcript.fail(id, verdict.code, verdict.detail)
  if (verdict.tolerated) transcript.skip(id, verdict.detail)
  else transcript.pass(id, verdict.detail)
}

async function readOneStatus(
  der: Bytes,
  certificate: Certificate,
  issuer: Certificate,
  at: Date,
  maxAgeHours: number | undefined,
): Promise<RevocationStatus> {
  try {
    const response = parseOcspResponse(der)
    if (response.kind === 'error') return unknown(`responder answered ${response.status}`)
    const answers = await answersAbout(response, certificate, issuer)
    if (answers.length === 0) return unknown(`response is not about ${describe(certificate)}`)
    const refusal = await findSignatureFault(response, issuer, at)
    if (refusal) return unknown(refusal)
    return combineAnswers(answers, at, maxAgeHours)
  } catch (cause) {
    if (!(cause instanceof AttestationError)) throw cause
    return unknown(cause.message)
  }
}

function combineAnswers(
  answers: readonly OcspAnswer[],
  at: Date,
  maxAgeHours = Number.POSITIVE_INFINITY,
): RevocationStatus {
  const fresh = answers.filter(
    ({ thisUpdate, nextUpdate }) => nextUpdate && isWithin(at, thisUpdate, nextUpdate),
  )
  const [first] = answers
  if (fresh.length === 0) {
    const from = first && formatTime(first.thisUpdate)
    const until = first?.nextUpdate ? formatTime(first.nextUpdate) : 'no stated end'
    return unknown(`response is stale: ${from} to ${until}, time is ${formatTime(at)}`)
  }
  const revoked = fresh.map(({ status }) => status).find((status) => status.kind === 'revoked')
  if (revoked) return revoked
  if (fresh.some(({ status }) => status.kind === 'unknown')) {
    return unknown('responder does not know the certificate')
  }
  // "Revoked" stays true however old it is; "good" does not.
  const ageHours = (thisUpdate: Date) => (at.getTime() - thisUpdate.getTime()) / 3_600_000
  const least = Math.min(...fresh.map(({ thisUpdate }) => ageHours(thisUpdate)))
  if (least > maxAgeHours) {
    return unknown(`response is ${least.toFixed(1)} hours old, manifest accepts ${maxAgeHours}`)
  }
  return { kind: 'good' }
}

async function answersAbout(
  response: BasicOcspResponse,
  certificate: Certificate,
  issuer: Certificate,
): Promise<OcspAnswer[]> {
  const matching: OcspAnswer[] = []
  for (const answer of response.answers) {
    if (answer.certId.serialHex !== certificate.serialHex) continue
    if (await isIssuedBy(answer.certId, issuer)) matching.push(answer)
  }
  return matching
}

async function isIssuedBy(certId: CertId, issuer: Certificate): Promise<boolean> {
  if (!certId.hash) return false
  const nameHash = new Uint8Array(await crypto.subtle.digest(certId.hash, issuer.subject))
  const keyHash = new Uint8Array(await crypto.subtle.digest(certId.hash, publicKeyBits(issuer)))
  return equalBytes(nameHash, certId.issuerNameHash) && equalBytes(keyHash, certId.issuerKeyHash)
}

/** Undefined if the issuer, or a responder it delegated to, signed (RFC 6960, 4.2.2.2). */
async function findSignatureFault(
  response: BasicOcspResponse,
  issuer: Certificate,
  at: Date,
): Promise<string | undefined> {
  const candidates = [issuer, ...response.certificates]
  const matches: Certificate[] = []
  for (const candidate of candidates) {
    if (await isNamed(response.responder, candidate)) matches.push(candidate)
  }
  let fault = 'the responder certificate is not in the response'
  for (const signer of matches) {
    const delegationFault =
      signer === issuer ? undefined : await findDelegationFault(signer, issuer, at)
    if (delegationFault) {
      fault = delegationFault
      continue
    }
    const { signatureAlgorithm, tbs, signature } = response
    if (await verifySignature(signer.spki, signatureAlgorithm, tbs, signature)) return undefined
    fault = `signature is not by ${describe(signer)}`
  }
  return fault
}

// Revocation of the responder itself is not checked: its certificate is short-lived by design, and
// the issuer that could revoke it has no other channel here (RFC 6960, 4.2.2.2.1).
async function findDelegationFault(
  responder: Certificate,
  issuer: Certificate,
  at: Date,
): Promise<string | undefined> {
  const who = `responder ${describe(responder)}`
  if (!equalBytes(responder.issuer, issuer.subject) || !(await isSignedBy(responder, issuer))) {
    return `${who} was not issued by ${describe(issuer)}`
  }
  if (!responder.extendedKeyUsage?.includes(ocspSigningOid)) return `${who} may not sign answers`
  if (responder.keyUsage && !responder.keyUsage.has('digitalSignature')) {
    return `${who} may not sign`
  }
  if (!isWithin(at, responder.notBefore, responder.notAfter))
    return `${who} is outside its validity`
  const critical = unknownCriticalExtensions(responder)
  if (critical.length > 0) return `${who} has unknown critical extensions: ${critical.join(', ')}`
  return undefined
}

async function isNamed(responder: ResponderId, candidate: Certificate): Promise<boolean> {
  switch (responder.kind) {
    case 'name':
      return equalBytes(responder.name, candidate.subject)
    case 'key': {
      const hash = await crypto.subtle.digest('SHA-1', publicKeyBits(candidate))
      return equalBytes(new Uint8Array(hash), responder.keyHash)
    }
  }
}

/** The key's BIT STRING without tag, length and unused-bits octet, as RFC 6960 hashes it. */
export const publicKeyBits = (certificate: Certificate): Bytes =>
  parseDer(certificate.spki, (outer) => {
    const info = outer.enter()
    info.enter() // algorithm
    const { bytes } = info.readBitString()
    info.end()
    return bytes
  })

const unknown = (reason: string): RevocationStatus => ({ kind: 'unknown', reason })
