/** The provider for browsers and other web platforms: WebCrypto, asynchronous. */
import { joinBytes } from './byte-strings.ts'
import type { AeadKey, Bytes, CryptoProvider } from './crypto-provider.ts'

/** The part that handles content and randomness, for providers that hash in their own way. */
export const webCiphers: Pick<CryptoProvider, 'random' | 'aeadKey'> = {
  random,
  aeadKey,
}

/** The cryptography of the sealed protocol on WebCrypto, which browsers and all supported runtimes have. */
export const webCryptoProvider: CryptoProvider = {
  random,
  aeadKey,

  sha256: async (data) => new Uint8Array(await crypto.subtle.digest('SHA-256', data)),

  async expand(secret, info) {
    const algorithm = { name: 'HMAC', hash: 'SHA-256' }
    const key = await crypto.subtle.importKey('raw', secret, algorithm, false, ['sign'])
    // 32 bytes are exactly one block of HKDF-Expand: T(1) = HMAC(PRK, info ‖ 0x01).
    const block = joinBytes([info, Uint8Array.of(1)])
    return new Uint8Array(await crypto.subtle.sign('HMAC', key, block))
  },
}

function random(length: number): Bytes {
  return crypto.getRandomValues(new Uint8Array(length))
}

async function aeadKey(raw: Bytes): Promise<AeadKey> {
  const key = await crypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['encrypt', 'decrypt'])
  return webAeadKey(key)
}

function webAeadKey(key: CryptoKey): AeadKey {
  const algorithm = (iv: Bytes, additionalData: Bytes) => ({ name: 'AES-GCM', iv, additionalData })
  return {
    async seal(nonce, aad, plaintext) {
      const sealed = await crypto.subtle.encrypt(algorithm(nonce, aad), key, joinBytes(plaintext))
      return [new Uint8Array(sealed)]
    },
    async open(nonce, aad, ciphertextAndTag) {
      try {
        return new Uint8Array(
          await crypto.subtle.decrypt(algorithm(nonce, aad), key, ciphertextAndTag),
        )
      } catch {
        return undefined // WebCrypto reports only that the tag does not verify
      }
    },
  }
}
