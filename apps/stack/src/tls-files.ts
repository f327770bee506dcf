/** A certificate for this machine's own names, below an authority made on the first start. */
import * as x509 from '@peculiar/x509'
import type { Home } from './home.ts'

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const dayMs = 86_400_000
const lifetimeDays = 397
const renewBeforeDays = 30

export type TlsFiles = {
  readonly caPath: string
  readonly certPath: string
  readonly keyPath: string
}

export async function ensureTlsFiles(home: Home, now: Date): Promise<TlsFiles> {
  const paths = {
    caPath: home.at('tls', 'ca.pem'),
    certPath: home.at('tls', 'cert.pem'),
    keyPath: home.at('tls', 'key.pem'),
  }
  const cert = home.read('tls', 'cert.pem')
  if (cert === undefined || home.read('tls', 'key.pem') === undefined || expiresSoon(cert, now)) {
    await makeTlsFiles(home, now)
  }
  return paths
}

function expiresSoon(pem: Uint8Array, now: Date): boolean {
  const { notAfter } = new x509.X509Certificate(new TextDecoder().decode(pem))
  return notAfter.getTime() - now.getTime() < renewBeforeDays * dayMs
}

/** The authority's key is not kept: a new certificate comes with a new authority. */
async function makeTlsFiles(home: Home, now: Date): Promise<void> {
  const notBefore = new Date(now.getTime() - dayMs)
  const notAfter = new Date(now.getTime() + lifetimeDays * dayMs)
  const caKeys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=Privatemode local authority',
    keys: caKeys,
    notBefore,
    notAfter,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  })
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const cert = await x509.X509CertificateGenerator.create({
    subject: 'CN=localhost',
    issuer: ca.subject,
    publicKey: keys.publicKey,
    signingKey: caKeys.privateKey,
    notBefore,
    notAfter,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.SubjectAlternativeNameExtension([
        { type: 'dns', value: 'localhost' },
        { type: 'ip', value: '127.0.0.1' },
        { type: 'ip', value: '::1' },
      ]),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    ],
  })
  const pkcs8 = await crypto.subtle.exportKey('pkcs8', keys.privateKey)
  home.write(x509.PemConverter.encode(pkcs8, 'PRIVATE KEY'), 'tls', 'key.pem')
  home.write(ca.toString('pem'), 'tls', 'ca.pem')
  home.write(cert.toString('pem'), 'tls', 'cert.pem')
}
