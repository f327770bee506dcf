import { expect, test } from 'bun:test'
import { webCryptoProvider } from '@privatemode/protocol/envelope'
import { clientCrypto } from './client-crypto.ts'

test('hashes and derived keys are those of WebCrypto, at every length around a block', async () => {
  for (const length of [0, 1, 31, 32, 55, 56, 63, 64, 65, 128, 2400]) {
    const data = crypto.getRandomValues(new Uint8Array(length))
    const secret = crypto.getRandomValues(new Uint8Array(32))
    expect(await clientCrypto.sha256(data)).toEqual(await webCryptoProvider.sha256(data))
    expect(await clientCrypto.expand(secret, data)).toEqual(
      await webCryptoProvider.expand(secret, data),
    )
  }
})

test('ciphers and randomness are the platform’s own', () => {
  expect(clientCrypto.aeadKey).toBe(webCryptoProvider.aeadKey)
  expect(clientCrypto.random).toBe(webCryptoProvider.random)
})
