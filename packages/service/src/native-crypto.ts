/**
 * The runtime's native AES-GCM, HMAC and SHA-256, synchronous. It is a `CryptoProvider` of protocol/envelope; the
 * compiler checks that in the programs that hand it to the envelope.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto'

type Bytes = Uint8Array<ArrayBuffer>

const algorithm = 'aes-256-gcm'
const tagLength = 16
const cipherOptions = { authTagLength: tagLength }
// Up to this size one copy costs less than another call into the cipher.
const joinedBytes = 64 * 1024
/** Where parts are put together: a new buffer for each message would be memory that is never warm. */
const scratch = Buffer.allocUnsafeSlow(joinedBytes)
const firstBlock = Uint8Array.of(1)

export const nativeCrypto = {
  random: (length: number): Bytes => crypto.getRandomValues(new Uint8Array(length)),
  sha256: (data: Bytes): Bytes => Bun.SHA256.hash(data) as Bytes,
  // 32 bytes are exactly one block of HKDF-Expand: T(1) = HMAC(PRK, info ‖ 0x01).
  expand: (secret: Bytes, info: Bytes): Bytes =>
    new Bun.CryptoHasher('sha256', secret).update(info).update(firstBlock).digest() as Bytes,
  aeadKey: nativeAeadKey,
}

function nativeAeadKey(raw: Bytes) {
  return {
    seal(nonce: Bytes, aad: Bytes, plaintext: readonly Bytes[]): Bytes[] {
      const cipher = createCipheriv(algorithm, raw, nonce, cipherOptions)
      cipher.setAAD(aad)
      const sealed: Bytes[] = []
      for (const part of gather(plaintext)) sealed.push(cipher.update(part) as Bytes)
      cipher.final()
      sealed.push(cipher.getAuthTag() as Bytes)
      return sealed
    },
    open(nonce: Bytes, aad: Bytes, ciphertextAndTag: Bytes): Bytes | undefined {
      const end = ciphertextAndTag.length - tagLength
      if (end < 0) return undefined
      const decipher = createDecipheriv(algorithm, raw, nonce, cipherOptions)
      decipher.setAAD(aad)
      decipher.setAuthTag(ciphertextAndTag.subarray(end))
      const plaintext = decipher.update(ciphertextAndTag.subarray(0, end)) as Bytes
      try {
        decipher.final()
      } catch {
        return undefined // in GCM, final only fails if the tag does not match
      }
      return plaintext
    },
  }
}

function gather(parts: readonly Bytes[]): readonly Bytes[] {
  if (parts.length < 2) return parts
  let length = 0
  for (const part of parts) length += part.length
  if (length > joinedBytes) return parts
  let at = 0
  for (const part of parts) {
    scratch.set(part, at)
    at += part.length
  }
  return [scratch.subarray(0, length) as Bytes]
}
