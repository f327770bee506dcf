/**
 * The few primitives the sealed format needs: one format, with two providers behind this interface.
 */

export type Bytes = Uint8Array<ArrayBuffer>

/** A value if the provider is synchronous, or a promise of it if the provider is WebCrypto. */
export type Eventually<T> = T | Promise<T>

/** Continues without a promise where there is none, so native programs stay synchronous. */
export function andThen<T, U>(
  value: Eventually<T>,
  next: (value: T) => Eventually<U>,
): Eventually<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** One AES-256-GCM key. A nonce is used once per key; the format's counters ensure that. */
export interface AeadKey {
  /** The ciphertext in pieces, the 16-byte tag last; the pieces join to ciphertext ‖ tag. */
  seal(nonce: Bytes, aad: Bytes, plaintext: readonly Bytes[]): Eventually<readonly Bytes[]>
  /** The plaintext, or `undefined` if the tag does not verify. */
  open(nonce: Bytes, aad: Bytes, ciphertextAndTag: Bytes): Eventually<Bytes | undefined>
}

export interface CryptoProvider {
  random(length: number): Bytes
  sha256(data: Bytes): Eventually<Bytes>
  /** HKDF-Expand with SHA-256 (RFC 5869, section 2.3) to 32 bytes; `secret` is uniform. */
  expand(secret: Bytes, info: Bytes): Eventually<Bytes>
  aeadKey(key: Bytes): Eventually<AeadKey>
}
