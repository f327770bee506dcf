/** Summarises whether certificates were checked for revocation, for pages and events. */
import type { Check } from './verdict.ts'

/** `tolerated`: one is revoked, but still within the grace period. */
export type RevocationState = 'checked' | 'not checked' | 'tolerated'

/** For people: every page and log uses the same wording. */
export const revocationWords: Readonly<Record<RevocationState, string>> = {
  checked: 'revocation checked: no certificate is revoked',
  'not checked': 'revocation not checked',
  tolerated: 'a certificate is revoked, within the grace period',
}

/** Details of tolerated checks start with one of these. */
export const notChecked = 'revocation not checked'
export const revokedInGrace = 'revoked, within the grace period'

/** `checked` only if at least one certificate was looked up and every response was good. */
export function readRevocationState(checks: readonly Check[]): RevocationState {
  const about = checks.filter(({ id }) => /[/-]revocation$/.test(id) && id !== deviceLeaf)
  if (about.some(({ detail }) => detail.startsWith(revokedInGrace))) return 'tolerated'
  if (about.length === 0 || about.some(({ result }) => result !== 'passed')) return 'not checked'
  return 'checked'
}

/** Created by the device itself on every start; its issuer is looked up instead. */
const deviceLeaf = 'nvidia/chain/0/revocation'
