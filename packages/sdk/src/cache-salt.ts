/** Decides the prompt-cache salt of calls that do not bring their own. */
import { type CryptoProvider, formatHex } from '@privatemode/protocol/envelope'

/**
 * `isolated`: every call gets a fresh salt, so no two calls share a cache. `shared-random`: all
 * calls of this client share one secret random salt. `shared`: everyone with the same salt shares a
 * cache.
 */
export type CacheSaltPolicy = 'isolated' | 'shared-random' | { readonly shared: string }

/** Returns `undefined` to let the worker draw a fresh salt. */
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
