/** A certificate authority for tests: certificates and revocation lists, valid or deliberately wrong. */
import type { Bytes } from '../bytes.ts'
import {
  bitString,
  boolean,
  explicit,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  set,
  time,
  utf8String,
} from '../der/der-writer.ts'
import type { TestKey } from './test-key.ts'

export type TestExtension = {
  readonly oid: string
  readonly critical?: boolean
  readonly value: Uint8Array
}

export type TestSubject = { readonly name: string; readonly key: TestKey }

export type CertificateRequest = {
  readonly subject: TestSubject
  /** Self-signed if absent. */
  readonly issuer?: TestSubject
  readonly serial?: number | Uint8Array
  readonly notBefore?: Date
  readonly notAfter?: Date
  readonly ca?: { readonly pathLength?: number } | false
  /** Bits of RFC 5280, 4.2.1.3, first one leftmost; omits the extension if absent. */
  readonly keyUsage?: number
  readonly extensions?: readonly TestExtension[]
  /** The number on the wire: 2 is version 3. */
  readonly version?: number
}

export const keyUsageBits = { digitalSignature: 0x80, keyCertSign: 0x04, cRLSign: 0x02 } as const

export const testNotBefore = new Date('2024-01-01T00:00:00Z')
export const testNotAfter = new Date('2034-01-01T00:00:00Z')
/** A time within the validity of everything the test authority issues by default. */
export const testNow = new Date('2026-01-01T12:00:00Z')

export const nameOf = (commonName: string): Bytes =>
  sequence(set(sequence(objectIdentifier('2.5.4.3'), utf8String(commonName))))

export async function issueCertificate(request: CertificateRequest): Promise<Bytes> {
  const { subject, issuer = subject } = request
  const extensions = [...(request.extensions ?? [])]
  if (request.ca) extensions.push(basicConstraints(request.ca.pathLength))
  if (request.keyUsage !== undefined) {
    const value = bitString(Uint8Array.of(request.keyUsage))
    extensions.push({ oid: '2.5.29.15', critical: true, value })
  }
  const fields = [
    explicit(0, integer(request.version ?? 2)),
    integer(request.serial ?? 1),
    issuer.key.algorithm,
    nameOf(issuer.name),
    sequence(time(request.notBefore ?? testNotBefore), time(request.notAfter ?? testNotAfter)),
    nameOf(subject.name),
    subject.key.spki,
  ]
  if (extensions.length > 0) fields.push(explicit(3, formatExtensions(extensions)))
  return signed(sequence(...fields), issuer.key)
}

/** An authority's own, self-signed certificate. */
export const issueRoot = (subject: TestSubject): Promise<Bytes> =>
  issueCertificate({
    subject,
    ca: {},
    keyUsage: keyUsageBits.keyCertSign | keyUsageBits.cRLSign,
  })

export type CrlRequest = {
  readonly issuer: TestSubject
  readonly thisUpdate?: Date
  readonly nextUpdate?: Date | null
  readonly revoked?: readonly {
    readonly serial: number | Uint8Array
    readonly at: Date
    readonly extensions?: readonly TestExtension[]
  }[]
  readonly extensions?: readonly TestExtension[]
  /** The number on the wire: 1 is version 2. */
  readonly version?: number
  /** What the signed part names, if it differs from the signing algorithm. */
  readonly innerAlgorithm?: Bytes
}

export async function issueCrl(request: CrlRequest): Promise<Bytes> {
  const { issuer, revoked = [], extensions = [] } = request
  const fields = [
    integer(request.version ?? 1),
    request.innerAlgorithm ?? issuer.key.algorithm,
    nameOf(issuer.name),
    time(request.thisUpdate ?? testNotBefore),
  ]
  if (request.nextUpdate !== null) fields.push(time(request.nextUpdate ?? testNotAfter))
  if (revoked.length > 0) {
    const entries = revoked.map(({ serial, at, extensions }) =>
      sequence(integer(serial), time(at), ...(extensions ? [formatExtensions(extensions)] : [])),
    )
    fields.push(sequence(...entries))
  }
  if (extensions.length > 0) fields.push(explicit(0, formatExtensions(extensions)))
  return signed(sequence(...fields), issuer.key)
}

/** The envelope shared by certificates, lists and OCSP responses. */
export async function signed(tbs: Bytes, key: TestKey): Promise<Bytes> {
  return sequence(tbs, key.algorithm, bitString(await key.sign(tbs)))
}

export const formatExtensions = (extensions: readonly TestExtension[]): Bytes =>
  sequence(
    ...extensions.map((extension) =>
      sequence(
        objectIdentifier(extension.oid),
        ...(extension.critical ? [boolean(true)] : []),
        octetString(extension.value),
      ),
    ),
  )

const basicConstraints = (pathLength: number | undefined): TestExtension => ({
  oid: '2.5.29.19',
  critical: true,
  value: sequence(boolean(true), ...(pathLength === undefined ? [] : [integer(pathLength)])),
})
