/** The provider for programs: the runtime's native AES-GCM, HMAC and SHA-256, synchronous. */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomFillSync,
} from 'node:crypto'
import type { AeadKey, Bytes, CryptoProvider } from '@privatemode/protocol/envelope'

const algorithm = 'aes-256-gcm'
const tagLength = 16
// Below this size one copy costs less than another call into the cipher.
const joinBelow = 16 * 1024
const firstBlock = Uint8Array.of(1)

export const nativeCrypto: CryptoProvider = {
  random: (length) => randomFillSync(new Uint8Array(length)),
  sha256: (data) => createHash('sha256').update(data).digest() as Bytes,
  // 32 bytes are exactly one block of HKDF-Expand: T(1) = HMAC(PRK, info ‖ 0x01).
  expand: (secret, info) =>
    createHmac('sha256', secret).update(info).update(firstBlock).digest() as Bytes,
  aeadKey: (raw) => nativeAeadKey(createSecretKey(raw)),
}

function nativeAeadKey(key: KeyObject): AeadKey {
  return {
    seal(nonce, aad, plaintext) {
      const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagLength })
      cipher.setAAD(aad)
      const sealed = gather(plaintext).map((part) => cipher.update(part) as Bytes)
      cipher.final()
      sealed.push(cipher.getAuthTag() as Bytes)
      return sealed
    },
    open(nonce, aad, ciphertextAndTag) {
      const end = ciphertextAndTag.length - tagLength
      if (end < 0) return undefined
      const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagLength })
      decipher.setAAD(aad)
      decipher.setAuthTag(ciphertextAndTag.subarray(end))
      const plaintext = decipher.update(ciphertextAndTag.subarray(0, end)) as Bytes
      try {
        decipher.final()
      } catch {
        return undefined // the only thing final can find in GCM is that the tag does not fit
      }
      return plaintext
    },
  }
}

function gather(parts: readonly Bytes[]): readonly Bytes[] {
  if (parts.length < 2) return parts
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return length > joinBelow ? parts : [Buffer.concat(parts) as Bytes]
}
