/** Parses OCSP responses (RFC 6960, 4.2.1); see `ocsp.ts` for trusting one. */
import { type Bytes, formatHex } from '../bytes.ts'
import { contextTag, type DerReader, parseDer, tags } from '../der/der-reader.ts'
import { AttestationError } from '../verdict.ts'
import {
  type Certificate,
  type Extension,
  parseCertificate,
  readExtensions,
} from './certificate.ts'
import { readSignatureAlgorithm, type SignatureAlgorithm } from './signature.ts'

export type OcspResponse =
  | { readonly kind: 'error'; readonly status: string }
  | ({ readonly kind: 'basic' } & BasicOcspResponse)

export type BasicOcspResponse = {
  /** The signed part. */
  readonly tbs: Bytes
  readonly responder: ResponderId
  readonly answers: readonly OcspAnswer[]
  readonly signatureAlgorithm: SignatureAlgorithm
  readonly signature: Bytes
  readonly certificates: readonly Certificate[]
}

export type ResponderId =
  /** DER of the Name. */
  | { readonly kind: 'name'; readonly name: Bytes }
  /** SHA-1 of the responder's public key. */
  | { readonly kind: 'key'; readonly keyHash: Bytes }

export type OcspAnswer = {
  readonly certId: CertId
  readonly status: AnsweredStatus
  readonly thisUpdate: Date
  readonly nextUpdate: Date | undefined
}

export type CertId = {
  /** Undefined if the algorithm is unknown; such an answer matches nothing. */
  readonly hash: 'SHA-1' | 'SHA-256' | 'SHA-384' | 'SHA-512' | undefined
  readonly issuerNameHash: Bytes
  readonly issuerKeyHash: Bytes
  readonly serialHex: string
}

export type AnsweredStatus =
  | { readonly kind: 'good' }
  | { readonly kind: 'revoked'; readonly at: Date; readonly reason: number | undefined }
  | { readonly kind: 'unknown' }

const maxResponseOctets = 256 * 1024
const maxAnswers = 4096
const maxCertificates = 8
const basicResponseOid = '1.3.6.1.5.5.7.48.1.1'
// Echoing a critical nonce is allowed; a stapled response's freshness depends on its window, not on
// a nonce.
const nonceOid = '1.3.6.1.5.5.7.48.1.2'

const hashOids: Readonly<Record<string, CertId['hash']>> = {
  '1.3.14.3.2.26': 'SHA-1',
  '2.16.840.1.101.3.4.2.1': 'SHA-256',
  '2.16.840.1.101.3.4.2.2': 'SHA-384',
  '2.16.840.1.101.3.4.2.3': 'SHA-512',
}

const statusNames: Readonly<Record<number, string>> = {
  1: 'malformedRequest',
  2: 'internalError',
  3: 'tryLater',
  5: 'sigRequired',
  6: 'unauthorized',
}

/** Throws `evidence_malformed` for anything that is not one complete, strictly encoded response. */
export function parseOcspResponse(der: Bytes): OcspResponse {
  if (der.length > maxResponseOctets) malformed(`${der.length} bytes is too long`)
  return parseDer(der, (outer) => {
    const response = outer.enter()
    const status = response.readSmallInteger(tags.enumerated)
    const wrapped = response.enterOptional(contextTag(0))
    response.end()
    if (status !== 0) return { kind: 'error', status: statusNames[status] ?? `status ${status}` }
    if (!wrapped) return malformed('a successful response has no content')
    const bytes = wrapped.enter()
    wrapped.end()
    const type = bytes.readOid()
    const content = bytes.readOctetString()
    bytes.end()
    if (type !== basicResponseOid) malformed(`response type ${type} is unknown`)
    return { kind: 'basic', ...parseDer(content, readBasicResponse) }
  })
}

function readBasicResponse(outer: DerReader): BasicOcspResponse {
  const response = outer.enter()
  const tbs = response.read(tags.sequence).raw
  const signatureAlgorithm = readSignatureAlgorithm(response)
  const { bytes: signature } = response.readBitString()
  const wrapped = response.enterOptional(contextTag(0))
  const certificates = wrapped ? readCertificates(wrapped.enter()) : []
  wrapped?.end()
  response.end()
  return { tbs, signatureAlgorithm, signature, certificates, ...parseDer(tbs, readResponseData) }
}

function readCertificates(list: DerReader): Certificate[] {
  const certificates: Certificate[] = []
  while (!list.atEnd) {
    if (certificates.length === maxCertificates) malformed('too many certificates')
    certificates.push(parseCertificate(list.read(tags.sequence).raw))
  }
  return certificates
}

function readResponseData(outer: DerReader): Pick<BasicOcspResponse, 'responder' | 'answers'> {
  const data = outer.enter()
  const version = data.enterOptional(contextTag(0))
  if (version && version.readSmallInteger() !== 0) malformed('version is not 1')
  version?.end()
  const responder = readResponderId(data)
  data.readTime() // producedAt: only the window of each answer matters
  const list = data.enter()
  const answers: OcspAnswer[] = []
  while (!list.atEnd) {
    if (answers.length === maxAnswers) malformed('too many answers')
    answers.push(readAnswer(list.enter()))
  }
  readOptionalExtensions(data)
  data.end()
  return { responder, answers }
}

function readResponderId(data: DerReader): ResponderId {
  const byName = data.enterOptional(contextTag(1))
  if (byName) {
    const name = byName.read(tags.sequence).raw
    byName.end()
    return { kind: 'name', name }
  }
  const byKey = data.enter(contextTag(2))
  const keyHash = byKey.readOctetString()
  byKey.end()
  return { kind: 'key', keyHash }
}

function readAnswer(answer: DerReader): OcspAnswer {
  const certId = readCertId(answer.enter())
  const status = readStatus(answer)
  const thisUpdate = answer.readTime()
  const wrapped = answer.enterOptional(contextTag(0))
  const nextUpdate = wrapped?.readTime()
  wrapped?.end()
  readOptionalExtensions(answer)
  answer.end()
  return { certId, status, thisUpdate, nextUpdate }
}

function readCertId(certId: DerReader): CertId {
  const algorithm = certId.enter()
  const hash = hashOids[algorithm.readOid()]
  if (!algorithm.atEnd) algorithm.readNull()
  algorithm.end()
  const issuerNameHash = certId.readOctetString()
  const issuerKeyHash = certId.readOctetString()
  const serialHex = formatHex(certId.readIntegerBytes())
  certId.end()
  return { hash, issuerNameHash, issuerKeyHash, serialHex }
}

function readStatus(answer: DerReader): AnsweredStatus {
  const good = answer.readOptional(contextTag(0, 'primitive'))
  if (good) return requireEmpty(good.content, { kind: 'good' })
  const unknown = answer.readOptional(contextTag(2, 'primitive'))
  if (unknown) return requireEmpty(unknown.content, { kind: 'unknown' })
  const revoked = answer.enter(contextTag(1))
  const at = revoked.readTime()
  const wrapped = revoked.enterOptional(contextTag(0))
  const reason = wrapped?.readSmallInteger(tags.enumerated)
  wrapped?.end()
  revoked.end()
  return { kind: 'revoked', at, reason }
}

function requireEmpty(content: Bytes, status: AnsweredStatus): AnsweredStatus {
  return content.length === 0 ? status : malformed('a status has unexpected content')
}

function readOptionalExtensions(reader: DerReader): void {
  const wrapped = reader.enterOptional(contextTag(1))
  if (!wrapped) return
  const extensions: ReadonlyMap<string, Extension> = readExtensions(wrapped)
  wrapped.end()
  for (const [oid, { critical }] of extensions) {
    if (critical && oid !== nonceOid) malformed(`critical extension ${oid} is unknown`)
  }
}

function malformed(detail: string): never {
  throw new AttestationError('evidence_malformed', `ocsp: ${detail}`)
}
