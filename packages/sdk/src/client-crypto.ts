/** The client's crypto provider: WebCrypto's ciphers, and short hashes without a trip to its thread. */
import {
  type Bytes,
  type CryptoProvider,
  joinBytes,
  webCiphers,
} from '@privatemode/protocol/envelope'
import { sha256 } from './sha256.ts'

/**
 * Every WebCrypto call waits for another thread, which takes longer than hashing the few hundred
 * bytes that keys are derived from. Ciphers stay in WebCrypto: they process content, which timing
 * must not leak.
 */
export const clientCrypto: CryptoProvider = {
  ...webCiphers,
  sha256,
  // 32 bytes are exactly one block of HKDF-Expand: T(1) = HMAC(PRK, info ‖ 0x01).
  expand: (secret, info) => hmacSha256(secret, joinBytes([info, Uint8Array.of(1)])),
}

/** RFC 2104, for keys of at most one block: ours are 32 bytes long. */
function hmacSha256(key: Bytes, message: Bytes): Bytes {
  if (key.length > 64) throw new RangeError('HMAC keys must not exceed 64 bytes here')
  const padded = (pad: number) => Uint8Array.from({ length: 64 }, (_, at) => (key[at] ?? 0) ^ pad)
  const inner = sha256(joinBytes([padded(0x36), message]))
  return sha256(joinBytes([padded(0x5c), inner]))
}
