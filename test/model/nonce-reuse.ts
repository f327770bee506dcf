/** A crypto provider that detects what breaks AES-GCM: two plaintexts under one key and nonce. */
import { createHash } from 'node:crypto'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import {
  type AeadKey,
  andThen,
  type CryptoProvider,
} from '../../packages/protocol/src/envelope/crypto-provider.ts'

/** What it seals, it remembers for as long as it lives. */
export function providerThatRefusesReuse(provider: CryptoProvider = nativeCrypto): CryptoProvider {
  const sealed = new Map<string, string>()
  return {
    ...provider,
    aeadKey: (key) =>
      andThen(
        provider.aeadKey(key),
        (aead): AeadKey => ({
          ...aead,
          open: (...all) => aead.open(...all),
          seal(nonce, associated, plaintext) {
            const place = `${hex(key)} ${hex(nonce)}`
            const text = createHash('sha256').update(associated)
            for (const part of plaintext) text.update(part)
            const digest = text.digest('hex')
            if ((sealed.get(place) ?? digest) !== digest) {
              throw new Error('two texts are sealed under one key and nonce')
            }
            sealed.set(place, digest)
            return aead.seal(nonce, associated, plaintext)
          },
        }),
      ),
  }
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
