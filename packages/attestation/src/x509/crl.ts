/**
 * Certificate revocation lists (RFC 5280, 5): a list counts only once its signature and window are
 * verified.
 */
import { type Bytes, equalBytes, formatHex } from '../bytes.ts'
import { contextTag, type DerReader, parseDer, tags } from '../der/der-reader.ts'
import { AttestationError, type Transcript } from '../verdict.ts'
import { type Certificate, type Extension, readExtensions } from './certificate.ts'
import { describe, formatTime, isWithin } from './chain.ts'
import { readSignatureAlgorithm, type SignatureAlgorithm, verifySignature } from './signature.ts'

export type Crl = {
  /** The signed part. */
  readonly tbs: Bytes
  /** DER of the Name. */
  readonly issuer: Bytes
  readonly thisUpdate: Date
  readonly nextUpdate: Date | undefined
  /** CRLNumber (RFC 5280, 5.2.3), which increases with every list of an issuer. */
  readonly number: bigint | undefined
  /** Time of revocation by serial number in hex. */
  readonly revoked: ReadonlyMap<string, Date>
  readonly signatureAlgorithm: SignatureAlgorithm
  readonly signature: Bytes
}

declare const verified: unique symbol
/** A list whose signature and window were checked; created only by `verifyCrl`. */
export type VerifiedCrl = Crl & { readonly [verified]: true }

/** What a rule may check about a list; the number is decimal. */
export type CrlClaims = { readonly number: string | undefined; readonly ageHours: number }

const crlNumberOid = '2.5.29.20'
const maxCrlOctets = 4 * 1024 * 1024
const crlExtensions: readonly string[] = [crlNumberOid, '2.5.29.35'] // and authority key id
const entryExtensions: readonly string[] = ['2.5.29.21', '2.5.29.24'] // reason, invalidity date

/** Throws `crl_invalid` for anything that is not one complete, strictly encoded, full (not delta) list. */
export function parseCrl(der: Bytes): Crl {
  try {
    if (der.length > maxCrlOctets) throw new AttestationError('crl_invalid', 'list is too long')
    return parseDer(der, readCrl)
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : 'unreadable'
    throw new AttestationError('crl_invalid', `revocation list: ${detail}`, { cause })
  }
}

/** Verifies the list of `issuer`: present, well formed, signed by it and within its window. */
export async function verifyCrl(
  der: Bytes | undefined,
  issuer: Certificate,
  at: Date,
  transcript: Transcript,
  idPrefix: string,
): Promise<VerifiedCrl> {
  const id = `${idPrefix}/present`
  if (!der) transcript.fail(id, 'crl_missing', `no revocation list of ${describe(issuer)}`)
  const crl = transcript.attempt(id, () => parseCrl(der))
  transcript.pass(id, `${crl.revoked.size} entries`)
  transcript.require(
    equalBytes(crl.issuer, issuer.subject),
    `${idPrefix}/issuer`,
    'crl_invalid',
    `the list must be of ${describe(issuer)}`,
  )
  const maySign = issuer.isCa && (issuer.keyUsage?.has('cRLSign') ?? true)
  transcript.require(
    maySign && (await verifySignature(issuer.spki, crl.signatureAlgorithm, crl.tbs, crl.signature)),
    `${idPrefix}/signature`,
    'crl_invalid',
    `the list must be signed by ${describe(issuer)}`,
  )
  const { thisUpdate, nextUpdate } = crl
  transcript.require(
    nextUpdate !== undefined && isWithin(at, thisUpdate, nextUpdate),
    `${idPrefix}/window`,
    'crl_stale',
    `list covers ${thisUpdate.toISOString()} to ${nextUpdate?.toISOString() ?? 'no stated end'}, time is ${formatTime(at)}`,
  )
  return crl as VerifiedCrl
}

export const readCrlClaims = ({ number, thisUpdate }: VerifiedCrl, at: Date): CrlClaims => ({
  number: number?.toString(),
  ageHours: (at.getTime() - thisUpdate.getTime()) / 3_600_000,
})

/** Refuses a certificate that is in its issuer's list. */
export function requireUnlisted(
  crl: VerifiedCrl,
  certificate: Certificate,
  transcript: Transcript,
  id: string,
): void {
  if (!equalBytes(crl.issuer, certificate.issuer)) {
    transcript.fail(id, 'crl_invalid', `the list is not of the issuer of ${describe(certificate)}`)
  }
  const revokedAt = crl.revoked.get(certificate.serialHex)
  transcript.require(
    revokedAt === undefined,
    id,
    'certificate_revoked',
    revokedAt
      ? `${describe(certificate)} was revoked at ${revokedAt.toISOString()}`
      : `${describe(certificate)} is not listed`,
  )
}

function readCrl(outer: DerReader): Crl {
  const list = outer.enter()
  const tbs = list.read(tags.sequence).raw
  const outerAlgorithm = list.rest
  const signatureAlgorithm = readSignatureAlgorithm(list)
  const { bytes: signature } = list.readBitString()
  list.end()

  return parseDer(tbs, (outerTbs) => {
    const fields = outerTbs.enter()
    // Version 1 lists have no extensions and no vendor issues them.
    if (fields.readSmallInteger() !== 1) malformed('version is not 2')
    const innerAlgorithm = fields.read(tags.sequence).raw
    if (!equalBytes(innerAlgorithm, outerAlgorithm.subarray(0, innerAlgorithm.length))) {
      malformed('the two signature algorithms differ')
    }
    const issuer = fields.read(tags.sequence).raw
    const thisUpdate = fields.readTime()
    const nextUpdate = isTime(fields.peekTag()) ? fields.readTime() : undefined
    const revoked = readEntries(fields.enterOptional(tags.sequence))
    const wrapped = fields.enterOptional(contextTag(0))
    const extensions = wrapped ? readExtensions(wrapped) : new Map<string, Extension>()
    refuseCritical(extensions, crlExtensions)
    wrapped?.end()
    fields.end()
    const number = readCrlNumber(extensions.get(crlNumberOid))
    return { tbs, issuer, thisUpdate, nextUpdate, number, revoked, signatureAlgorithm, signature }
  })
}

/** Non-negative, at most 20 octets (RFC 5280, 5.2.3). */
function readCrlNumber(extension: Extension | undefined): bigint | undefined {
  if (extension === undefined) return undefined
  const octets = parseDer(extension.value, (reader) => reader.readIntegerBytes())
  if (octets.length > 20 || (octets[0] ?? 0) >= 0x80) malformed('list number is out of range')
  return BigInt(`0x${formatHex(octets)}`)
}

function readEntries(entries: DerReader | undefined): Map<string, Date> {
  const revoked = new Map<string, Date>()
  while (entries && !entries.atEnd) {
    const entry = entries.enter()
    const serialHex = formatHex(entry.readIntegerBytes())
    const revokedAt = entry.readTime()
    if (!entry.atEnd) refuseCritical(readExtensions(entry), entryExtensions)
    entry.end()
    revoked.set(serialHex, revokedAt)
  }
  return revoked
}

// A delta or partial list says so in a critical extension: both are refused.
function refuseCritical(
  extensions: ReadonlyMap<string, Extension>,
  understood: readonly string[],
): void {
  for (const [oid, { critical }] of extensions) {
    if (critical && !understood.includes(oid)) malformed(`critical extension ${oid} is unknown`)
  }
}

const isTime = (tag: number | undefined): boolean =>
  tag === tags.utcTime || tag === tags.generalizedTime

function malformed(detail: string): never {
  throw new AttestationError('crl_invalid', detail)
}
