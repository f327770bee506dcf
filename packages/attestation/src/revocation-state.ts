/** Says in one word whether anyone asked for revoked certificates, for pages and events. */
import type { Check } from './verdict.ts'

/** `tolerated`: one is revoked, and still inside the grace period. */
export type RevocationState = 'checked' | 'not checked' | 'tolerated'

/** For people: every page and log says the same. */
export const revocationWords: Readonly<Record<RevocationState, string>> = {
  checked: 'revocation checked: no certificate is revoked',
  'not checked': 'revocation not checked',
  tolerated: 'a certificate is revoked, within the grace period',
}

/** Details of checks that were tolerated begin with one of these. */
export const notChecked = 'revocation not checked'
export const revokedInGrace = 'revoked, within the grace period'

/** `checked` only where at least one certificate was asked for and every answer was good. */
export function readRevocationState(checks: readonly Check[]): RevocationState {
  const about = checks.filter(({ id }) => /[/-]revocation$/.test(id) && id !== deviceLeaf)
  if (about.some(({ detail }) => detail.startsWith(revokedInGrace))) return 'tolerated'
  if (about.length === 0 || about.some(({ result }) => result !== 'passed')) return 'not checked'
  return 'checked'
}

/** Made by the device itself at every start; its issuer is asked for. */
const deviceLeaf = 'nvidia/chain/0/revocation'
