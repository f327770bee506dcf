/** Parses X.509 version 3 certificates (RFC 5280) and their PEM form. */
import { type Bytes, equalBytes, formatHex, parseBase64 } from '../bytes.ts'
import { contextTag, type DerReader, parseDer, tags } from '../der/der-reader.ts'
import { AttestationError } from '../verdict.ts'
import { readSignatureAlgorithm, type SignatureAlgorithm } from './signature.ts'

export type KeyUsage =
  | 'digitalSignature'
  | 'contentCommitment'
  | 'keyEncipherment'
  | 'dataEncipherment'
  | 'keyAgreement'
  | 'keyCertSign'
  | 'cRLSign'
  | 'encipherOnly'
  | 'decipherOnly'

export type Extension = { readonly critical: boolean; readonly value: Bytes }

export type Certificate = {
  readonly der: Bytes
  /** The signed part. */
  readonly tbs: Bytes
  /** Content octets of the serial number, in lower-case hex. */
  readonly serialHex: string
  /** DER of the Name. */
  readonly issuer: Bytes
  readonly subject: Bytes
  /** Of the subject; for display, never for trust. */
  readonly commonName: string | undefined
  readonly notBefore: Date
  readonly notAfter: Date
  /** DER of the SubjectPublicKeyInfo. */
  readonly spki: Bytes
  readonly signatureAlgorithm: SignatureAlgorithm
  readonly signature: Bytes
  readonly extensions: ReadonlyMap<string, Extension>
  readonly isCa: boolean
  /** How many intermediate CAs may follow; undefined means no limit. */
  readonly pathLength: number | undefined
  /** Undefined if the extension is absent. */
  readonly keyUsage: ReadonlySet<KeyUsage> | undefined
  readonly extendedKeyUsage: readonly string[] | undefined
}

export const extensionOids = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
} as const

// The vendors' largest certificates are under 4 kB.
const maxCertificateOctets = 32 * 1024
const maxPemText = 256 * 1024
const maxPemCertificates = 16

/** Throws `certificate_malformed` for anything that is not one complete, strictly encoded certificate. */
export function parseCertificate(der: Bytes): Certificate {
  try {
    if (der.length > maxCertificateOctets) {
      throw new AttestationError('certificate_malformed', `${der.length} bytes is too long`)
    }
    return parseDer(der, (outer) => readCertificate(der, outer))
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : 'unreadable'
    throw new AttestationError('certificate_malformed', `certificate: ${detail}`, { cause })
  }
}

/** DER of every certificate in PEM text (RFC 7468), in order; text outside the blocks is ignored. */
export function parsePem(text: string): Bytes[] {
  if (text.length > maxPemText) malformed('pem text is too long')
  const found: Bytes[] = []
  const blocks = text.matchAll(
    /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----/g,
  )
  for (const [, body = ''] of blocks) {
    found.push(parseBase64(body.replace(/\s/g, '')) ?? malformed('pem block is not base64'))
  }
  // A block that is not base64 would not match above; it is refused, not skipped.
  const begun = text.split('-----BEGIN CERTIFICATE-----').length - 1
  if (found.length !== begun || begun === 0 || begun > maxPemCertificates) {
    malformed(`pem text begins ${begun} certificates, of which ${found.length} are whole`)
  }
  return found
}

/** SHA-256 in hex: an identifier of a certificate that cannot be forged. */
export async function fingerprint(der: Bytes): Promise<string> {
  return formatHex(new Uint8Array(await crypto.subtle.digest('SHA-256', der)))
}

function readCertificate(der: Bytes, outer: DerReader): Certificate {
  const certificate = outer.enter()
  const tbs = certificate.read(tags.sequence).raw
  const outerAlgorithm = certificate.rest
  const signatureAlgorithm = readSignatureAlgorithm(certificate)
  const { bytes: signature } = certificate.readBitString()
  certificate.end()

  return parseDer(tbs, (outerTbs) => {
    const fields = outerTbs.enter()
    const version = fields.enterOptional(contextTag(0))
    const versionNumber = version?.readSmallInteger()
    version?.end()
    if (versionNumber !== 2) malformed('version is not 3')
    const serialHex = formatHex(fields.readIntegerBytes())
    const innerAlgorithm = fields.read(tags.sequence).raw
    // RFC 5280, 4.1.1.2: the signed part must name the same algorithm as the envelope.
    if (!equalBytes(innerAlgorithm, outerAlgorithm.subarray(0, innerAlgorithm.length))) {
      malformed('the two signature algorithms differ')
    }
    const issuer = fields.read(tags.sequence).raw
    const validity = fields.enter()
    const notBefore = validity.readTime()
    const notAfter = validity.readTime()
    validity.end()
    const subject = fields.read(tags.sequence).raw
    const spki = fields.read(tags.sequence).raw
    fields.readOptional(contextTag(1, 'primitive')) // issuerUniqueID
    fields.readOptional(contextTag(2, 'primitive')) // subjectUniqueID
    const wrapped = fields.enterOptional(contextTag(3))
    const extensions = wrapped ? readExtensions(wrapped) : new Map<string, Extension>()
    wrapped?.end()
    fields.end()
    return {
      der,
      tbs,
      serialHex,
      issuer,
      subject,
      commonName: findCommonName(subject),
      notBefore,
      notAfter,
      spki,
      signatureAlgorithm,
      signature,
      extensions,
      ...parseBasicConstraints(extensions.get(extensionOids.basicConstraints)),
      keyUsage: parseKeyUsage(extensions.get(extensionOids.keyUsage)),
      extendedKeyUsage: parseExtendedKeyUsage(extensions.get(extensionOids.extendedKeyUsage)),
    }
  })
}

/** Reads `Extensions`, common to certificates, CRLs and OCSP responses; a duplicate is refused. */
export function readExtensions(parent: DerReader): Map<string, Extension> {
  const list = parent.enter()
  const extensions = new Map<string, Extension>()
  while (!list.atEnd) {
    const extension = list.enter()
    const oid = extension.readOid()
    const critical = extension.peekTag() === tags.boolean ? extension.readBoolean() : false
    const value = extension.readOctetString()
    extension.end()
    if (extensions.has(oid)) malformed(`extension ${oid} occurs twice`)
    extensions.set(oid, { critical, value })
  }
  return extensions
}

function parseBasicConstraints(extension: Extension | undefined): {
  isCa: boolean
  pathLength: number | undefined
} {
  if (!extension) return { isCa: false, pathLength: undefined }
  return parseDer(extension.value, (outer) => {
    const constraints = outer.enter()
    const isCa = constraints.peekTag() === tags.boolean ? constraints.readBoolean() : false
    const pathLength = constraints.atEnd ? undefined : constraints.readSmallInteger()
    constraints.end()
    return { isCa, pathLength }
  })
}

const keyUsageBits: readonly KeyUsage[] = [
  'digitalSignature',
  'contentCommitment',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
  'encipherOnly',
  'decipherOnly',
]

function parseKeyUsage(extension: Extension | undefined): ReadonlySet<KeyUsage> | undefined {
  if (!extension) return undefined
  const { bytes } = parseDer(extension.value, (outer) => outer.readBitString(false))
  const isSet = (bit: number) => (((bytes[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1) === 1
  return new Set(keyUsageBits.filter((_, bit) => isSet(bit)))
}

function parseExtendedKeyUsage(extension: Extension | undefined): string[] | undefined {
  if (!extension) return undefined
  return parseDer(extension.value, (outer) => {
    const list = outer.enter()
    const purposes: string[] = []
    while (!list.atEnd) purposes.push(list.readOid())
    return purposes
  })
}

function findCommonName(name: Bytes): string | undefined {
  return parseDer(name, (outer) => {
    let commonName: string | undefined
    const sequence = outer.enter()
    while (!sequence.atEnd) {
      const set = sequence.enter(tags.set)
      while (!set.atEnd) {
        const attribute = set.enter()
        const oid = attribute.readOid()
        const { content } = attribute.read()
        attribute.end()
        if (oid === '2.5.4.3') commonName = new TextDecoder().decode(content)
      }
    }
    return commonName
  })
}

function malformed(detail: string): never {
  throw new AttestationError('certificate_malformed', detail)
}
