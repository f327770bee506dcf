/** Certificates for software attestation: a root created once per installation, and the leaves it issues. */
import { type Bytes, formatBase64, utf8 } from '../bytes.ts'
import {
  bitString,
  boolean,
  ecdsaSignature,
  explicit,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  set,
  time,
  utf8String,
} from '../der/der-writer.ts'
import { Fields } from '../fields.ts'
import { parseJson } from '../strict-json.ts'
import { AttestationError } from '../verdict.ts'
import { fingerprint, parseCertificate } from '../x509/certificate.ts'

/** A private key with its chain, leaf first and root last; the root's own chain has one certificate. */
export type SoftwareIdentity = {
  readonly certificates: readonly Bytes[]
  readonly privateKey: CryptoKey
}

export type Issuance = { readonly name: string; readonly at: Date; readonly days: number }

const keyParameters = { name: 'ECDSA', namedCurve: 'P-384' } as const
const signParameters = { name: 'ECDSA', hash: 'SHA-384' } as const
const codes = { malformed: 'certificate_malformed', unknown: 'certificate_malformed' } as const

export async function createSoftwareRoot(issuance: Issuance): Promise<SoftwareIdentity> {
  const { privateKey, publicKey } = await newKeyPair()
  const certificate = await issue(issuance, publicKey, privateKey, subject(issuance.name), true)
  return { certificates: [certificate], privateKey }
}

/** Issues an attestation key below `issuer`. */
export async function issueSoftwareLeaf(
  issuer: SoftwareIdentity,
  issuance: Issuance,
): Promise<SoftwareIdentity> {
  const { privateKey, publicKey } = await newKeyPair()
  const issuerName = parseCertificate(certificateOf(issuer)).subject
  const certificate = await issue(issuance, publicKey, issuer.privateKey, issuerName, false)
  return { certificates: [certificate, ...issuer.certificates], privateKey }
}

/** The value listed in `Roots.software` and in the manifest's rule: hex SHA-256 of the root certificate. */
export async function softwareRootFingerprint(identity: SoftwareIdentity): Promise<string> {
  return fingerprint(identity.certificates.at(-1) ?? new Uint8Array())
}

/** The stored form. It contains the private key: keep it secret. */
export async function formatSoftwareIdentity(identity: SoftwareIdentity): Promise<Bytes> {
  const privateKey = new Uint8Array(await crypto.subtle.exportKey('pkcs8', identity.privateKey))
  return utf8(
    JSON.stringify({
      version: 1,
      certificates: identity.certificates.map(formatBase64),
      private_key: formatBase64(privateKey),
    }),
  )
}

export async function parseSoftwareIdentity(bytes: Uint8Array): Promise<SoftwareIdentity> {
  const what = 'software identity'
  const json = parseJson(bytes, { what, code: 'certificate_malformed', maxBytes: 64 * 1024 })
  const fields = new Fields(json, what, codes)
  fields.integer('version', { min: 1, max: 1 })
  const certificates = fields.array('certificates', { min: 1, max: 4 }, (item, path) =>
    new Fields({ item }, path, codes).base64('item', { max: 4096 }),
  )
  const pkcs8 = fields.base64('private_key', { max: 1024 })
  fields.end()
  return { certificates, privateKey: await importPrivateKey(pkcs8) }
}

async function importPrivateKey(pkcs8: Bytes): Promise<CryptoKey> {
  try {
    return await crypto.subtle.importKey('pkcs8', pkcs8, keyParameters, true, ['sign'])
  } catch {
    // Without the cause: WebCrypto's message about a key does not belong in a log.
    throw new AttestationError('certificate_malformed', 'software identity: private key')
  }
}

async function newKeyPair(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(keyParameters, true, ['sign', 'verify'])
}

async function issue(
  { name, at, days }: Issuance,
  publicKey: CryptoKey,
  signer: CryptoKey,
  issuerName: Bytes,
  isCa: boolean,
): Promise<Bytes> {
  const ecdsaWithSha384 = sequence(objectIdentifier('1.2.840.10045.4.3.3'))
  // An hour earlier: the clocks of two machines are never exactly in sync.
  const notBefore = new Date(at.getTime() - 3_600_000)
  const notAfter = new Date(at.getTime() + days * 86_400_000)
  const tbs = sequence(
    explicit(0, integer(2)),
    integer(serialNumber()),
    ecdsaWithSha384,
    issuerName,
    sequence(time(notBefore), time(notAfter)),
    subject(name),
    new Uint8Array(await crypto.subtle.exportKey('spki', publicKey)),
    explicit(3, sequence(...extensions(isCa))),
  )
  const raw = new Uint8Array(await crypto.subtle.sign(signParameters, signer, tbs))
  return sequence(tbs, ecdsaWithSha384, bitString(ecdsaSignature(raw)))
}

function extensions(isCa: boolean): Bytes[] {
  const extension = (oid: string, value: Bytes) =>
    sequence(objectIdentifier(oid), boolean(true), octetString(value))
  const basicConstraints = isCa ? sequence(boolean(true), integer(0)) : sequence()
  // Bit 5 is keyCertSign, bit 0 digitalSignature (RFC 5280, 4.2.1.3).
  const keyUsage = isCa ? bitString(Uint8Array.of(0x04), 2) : bitString(Uint8Array.of(0x80), 7)
  return [extension('2.5.29.19', basicConstraints), extension('2.5.29.15', keyUsage)]
}

// RFC 5280, 4.1.2.2: positive and at most 20 octets.
function serialNumber(): Bytes {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes
}

function subject(commonName: string): Bytes {
  return sequence(set(sequence(objectIdentifier('2.5.4.3'), utf8String(commonName))))
}

function certificateOf(identity: SoftwareIdentity): Bytes {
  return identity.certificates[0] ?? new Uint8Array()
}
