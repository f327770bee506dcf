/** Decides the default prompt-cache salt of a request; a salt in the request body always overrides it. */
import { hkdfSync, randomBytes } from 'node:crypto'
import type { Secret } from '@privatemode/service'

export type SaltPolicy =
  /** No default: every request gets a fresh salt, which isolates caches. */
  | { readonly kind: 'isolated' }
  | { readonly kind: 'shared-random' }
  | { readonly kind: 'shared'; readonly salt: Secret }
  | { readonly kind: 'per-key'; readonly secret: Secret }

/** The default salt for a client's API key, or `undefined` for a fresh one. */
export type DefaultSalt = (apiKey: string) => string | undefined

const label = 'privatemode/v1/default-cache-salt'

export function createDefaultSalt(policy: SaltPolicy): DefaultSalt {
  switch (policy.kind) {
    case 'isolated':
      return () => undefined
    case 'shared-random': {
      const salt = randomBytes(32).toString('base64')
      return () => salt
    }
    case 'shared': {
      const salt = policy.salt.reveal()
      return () => salt
    }
    case 'per-key':
      return perKey(policy.secret)
  }
}

/**
 * HKDF-SHA256 (RFC 5869): the deployment secret is the key material, a label and the API key are the info.
 *
 * Knowing a salt reveals neither the secret nor another key's salt.
 */
function perKey(secret: Secret): DefaultSalt {
  const material = secret.reveal()
  return (apiKey) =>
    Buffer.from(hkdfSync('sha256', material, '', `${label}\0${apiKey}`, 32)).toString('base64')
}
