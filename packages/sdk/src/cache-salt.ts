/** Decides the prompt-cache salt of calls that have none of their own. */
import { type CryptoProvider, formatHex } from '@privatemode/protocol/envelope'

/**
 * `isolated`: every call gets a fresh salt, so that no two share a cache. `shared-random`: the calls
 * of this client share one that nobody else knows. `shared`: whoever has the same salt shares it.
 */
export type CacheSaltPolicy = 'isolated' | 'shared-random' | { readonly shared: string }

/** `undefined` leaves it to the worker to draw a fresh one. */
export function chooseDefaultSalt(
  policy: CacheSaltPolicy,
  provider: CryptoProvider,
): string | undefined {
  switch (policy) {
    case 'isolated':
      return undefined
    case 'shared-random':
      return formatHex(provider.random(32))
  }
  return policy.shared
}
