/** The provider of this client: WebCrypto's ciphers, and short hashes without the way to its thread. */
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { type CryptoProvider, joinBytes, webCryptoProvider } from '@privatemode/protocol/envelope'

/**
 * Every call of WebCrypto waits for another thread, which takes longer than hashing the few hundred
 * bytes that keys are derived from. Ciphers stay there: they see content, and time must not tell it.
 */
export const clientCrypto: CryptoProvider = {
  ...webCryptoProvider,
  sha256: (data) => new Uint8Array(sha256(data)),
  // 32 bytes are exactly one block of HKDF-Expand: T(1) = HMAC(PRK, info ‖ 0x01).
  expand: (secret, info) =>
    new Uint8Array(hmac(sha256, secret, joinBytes([info, Uint8Array.of(1)]))),
}
