/** A certificate authority for this machine: issues TLS certificates for local endpoints and for tests (RFC 5280). */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { Tls } from '@privatemode/http'
import { ipBytes, ipVersion } from './ip-address.ts'

export type Validity = { readonly notBefore: Date; readonly notAfter: Date }

export type LocalAuthority = {
  readonly certPem: string
  /** A certificate and its key for these host names and IP addresses; `subject` is its common name. */
  issue(names: readonly string[], subject?: string): Tls
}

/** Creates an authority with a fresh P-256 key that stays in memory. */
export function createLocalAuthority(name: string, validity: Validity): LocalAuthority {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = { name, key: keys.privateKey }
  const certPem = formatCertificate({
    issuer,
    subject: name,
    publicKey: keys.publicKey,
    validity,
    extensions: [
      extension('2.5.29.19', true, sequence(Buffer.from([0x01, 0x01, 0xff]))), // CA: true
      extension('2.5.29.15', true, Buffer.from([0x03, 0x02, 0x02, 0x04])), // keyCertSign
    ],
  })
  return {
    certPem,
    issue(names, subject = names[0] ?? name) {
      const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const extensions = [
        extension('2.5.29.17', false, sequence(...names.map(alternativeName))),
        extension('2.5.29.15', true, Buffer.from([0x03, 0x02, 0x07, 0x80])), // digitalSignature
        extension('2.5.29.37', false, sequence(objectId('1.3.6.1.5.5.7.3.1'))), // serverAuth
      ]
      return {
        certPem: formatCertificate({
          issuer,
          subject,
          publicKey: own.publicKey,
          validity,
          extensions,
        }),
        keyPem: own.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
      }
    },
  }
}

type CertificateParts = {
  readonly issuer: { readonly name: string; readonly key: KeyObject }
  readonly subject: string
  readonly publicKey: KeyObject
  readonly validity: Validity
  readonly extensions: readonly Buffer[]
}

function formatCertificate(parts: CertificateParts): string {
  const algorithm = sequence(objectId('1.2.840.10045.4.3.2')) // ecdsa-with-SHA256
  const serial = randomBytes(16)
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40 // positive, and of constant length
  const toSign = sequence(
    element(0xa0, element(0x02, Buffer.from([2]))), // version 3
    element(0x02, serial),
    algorithm,
    distinguishedName(parts.issuer.name),
    sequence(generalizedTime(parts.validity.notBefore), generalizedTime(parts.validity.notAfter)),
    distinguishedName(parts.subject),
    parts.publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa3, sequence(...parts.extensions)),
  )
  const signature = sign('sha256', toSign, parts.issuer.key)
  const bits = element(0x03, Buffer.concat([Buffer.from([0]), signature]))
  return formatPem(sequence(toSign, algorithm, bits))
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  const flag = critical ? [Buffer.from([0x01, 0x01, 0xff])] : []
  return sequence(objectId(id), ...flag, element(0x04, value))
}

function alternativeName(name: string): Buffer {
  return ipVersion(name) === 0
    ? element(0x82, Buffer.from(name, 'ascii'))
    : element(0x87, Buffer.from(ipBytes(name)))
}

function distinguishedName(commonName: string): Buffer {
  const attribute = sequence(objectId('2.5.4.3'), element(0x0c, Buffer.from(commonName)))
  return sequence(element(0x31, attribute))
}

function generalizedTime(at: Date): Buffer {
  const digits = at.toISOString().replace(/[-:T]|\.\d+/g, '')
  // UTCTime, with two-digit years, is used up to 2049 (RFC 5280, 4.1.2.5).
  return at.getUTCFullYear() < 2050
    ? element(0x17, Buffer.from(digits.slice(2)))
    : element(0x18, Buffer.from(digits))
}

function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [first * 40 + second]
  for (const arc of rest) {
    const groups = [arc & 0x7f]
    for (let left = arc >>> 7; left > 0; left >>>= 7) groups.unshift((left & 0x7f) | 0x80)
    bytes.push(...groups)
  }
  return element(0x06, Buffer.from(bytes))
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return element(0x30, Buffer.concat(parts))
}

function element(tag: number, content: Buffer): Buffer {
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  if (length < 0x100) return Buffer.concat([Buffer.from([tag, 0x81, length]), content])
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), content])
}

function formatPem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
