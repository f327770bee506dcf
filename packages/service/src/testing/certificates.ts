/** A certificate authority for tests of TLS. */
import { createLocalAuthority, type LocalAuthority } from '../local-authority.ts'

const dayMs = 86_400_000

export function createTestAuthority(name: string): LocalAuthority {
  const notBefore = new Date(Date.now() - dayMs)
  return createLocalAuthority(name, { notBefore, notAfter: new Date(Date.now() + 30 * dayMs) })
}
