/** A certificate for this machine's own names, issued by an authority created on the first start. */
import { X509Certificate } from 'node:crypto'
import { createLocalAuthority } from '@privatemode/service'
import type { Home } from './home.ts'

const dayMs = 86_400_000
const lifetimeDays = 397
const renewBeforeDays = 30

export type TlsFiles = {
  readonly caPath: string
  readonly certPath: string
  readonly keyPath: string
}

export function ensureTlsFiles(home: Home, now: Date): TlsFiles {
  const paths = {
    caPath: home.at('tls', 'ca.pem'),
    certPath: home.at('tls', 'cert.pem'),
    keyPath: home.at('tls', 'key.pem'),
  }
  const cert = home.read('tls', 'cert.pem')
  if (cert === undefined || home.read('tls', 'key.pem') === undefined || expiresSoon(cert, now)) {
    makeTlsFiles(home, now)
  }
  return paths
}

function expiresSoon(pem: Uint8Array, now: Date): boolean {
  const { validTo } = new X509Certificate(pem)
  return Date.parse(validTo) - now.getTime() < renewBeforeDays * dayMs
}

/** The authority's key is not kept: a new certificate comes with a new authority. */
function makeTlsFiles(home: Home, now: Date): void {
  const notBefore = new Date(now.getTime() - dayMs)
  const notAfter = new Date(now.getTime() + lifetimeDays * dayMs)
  const authority = createLocalAuthority('Privatemode local authority', { notBefore, notAfter })
  const { certPem, keyPem } = authority.issue(['localhost', '127.0.0.1', '::1'])
  home.write(keyPem, 'tls', 'key.pem')
  home.write(authority.certPem, 'tls', 'ca.pem')
  home.write(certPem, 'tls', 'cert.pem')
}
