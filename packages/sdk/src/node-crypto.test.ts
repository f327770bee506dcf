import { afterEach, expect, spyOn, test } from 'bun:test'
import { type CryptoProvider, joinBytes, webCryptoProvider } from '@privatemode/protocol/envelope'
import { nodeCryptoProvider } from './node-crypto.ts'

const node = nodeCryptoProvider() as CryptoProvider
const drawn = (length: number) => crypto.getRandomValues(new Uint8Array(length))
const lengths = [0, 1, 31, 32, 63, 64, 65, 2400, 65_536, 65_537, 262_144]

const userAgent = navigator.userAgent
const setUserAgent = (value: string) =>
  Object.defineProperty(navigator, 'userAgent', { value, configurable: true })
afterEach(() => void setUserAgent(userAgent))

test('hashes and derived keys match WebCrypto', async () => {
  for (const length of lengths.slice(0, 8)) {
    const [data, secret] = [drawn(length), drawn(32)]
    expect(await node.sha256(data)).toEqual(await webCryptoProvider.sha256(data))
    expect(await node.expand(secret, data)).toEqual(await webCryptoProvider.expand(secret, data))
  }
})

test('each provider opens what the other sealed, at every length', async () => {
  for (const length of lengths) {
    const [raw, nonce, aad] = [drawn(32), drawn(12), drawn(5)]
    const plaintext = drawn(length < 65_536 ? length : 65_536)
    const rest = drawn(length - plaintext.length)
    const keys = [await node.aeadKey(raw), await webCryptoProvider.aeadKey(raw)] as const
    const sealed = joinBytes(await keys[0].seal(nonce, aad, [plaintext, rest]))
    expect(sealed).toEqual(joinBytes(await keys[1].seal(nonce, aad, [plaintext, rest])))
    for (const key of keys) {
      expect(await key.open(nonce, aad, sealed)).toEqual(joinBytes([plaintext, rest]))
    }
  }
})

test('a changed bit of ciphertext, tag, nonce or additional data is refused, and so is a short message', async () => {
  for (const length of [100, 100_000]) {
    const [raw, nonce, aad, plaintext] = [drawn(32), drawn(12), drawn(5), drawn(length)]
    const key = await node.aeadKey(raw)
    const sealed = joinBytes(await key.seal(nonce, aad, [plaintext]))
    expect(await key.open(nonce, aad, flipped(sealed, 0))).toBeUndefined()
    expect(await key.open(nonce, aad, flipped(sealed, sealed.length - 1))).toBeUndefined()
    expect(await key.open(flipped(nonce, 0), aad, sealed)).toBeUndefined()
    expect(await key.open(nonce, flipped(aad, 0), sealed)).toBeUndefined()
    expect(await key.open(nonce, aad, sealed.subarray(0, 15))).toBeUndefined()
  }
})

test('what is opened is no Buffer, whose slice would share memory', async () => {
  const key = await node.aeadKey(drawn(32))
  const nonce = drawn(12)
  const sealed = joinBytes(await key.seal(nonce, nonce, [drawn(10)]))
  expect((await key.open(nonce, nonce, sealed))?.constructor).toBe(Uint8Array)
})

test('short messages make no WebCrypto call, long ones leave the thread free', async () => {
  const encrypt = spyOn(crypto.subtle, 'encrypt')
  const key = await node.aeadKey(drawn(32))
  expect(key.seal(drawn(12), drawn(5), [drawn(65_536)])).not.toBeInstanceOf(Promise)
  expect(encrypt).not.toHaveBeenCalled()
  expect(key.seal(drawn(12), drawn(5), [drawn(65_537)])).toBeInstanceOf(Promise)
  encrypt.mockRestore()
})

test('runtimes that only imitate Node use WebCrypto', () => {
  for (const other of ['Mozilla/5.0 (X11; Linux x86_64)', 'Deno/2.5.0', 'Cloudflare-Workers']) {
    setUserAgent(other)
    expect(nodeCryptoProvider()).toBeUndefined()
  }
  setUserAgent('Node.js/22')
  expect(nodeCryptoProvider()).toBeDefined()
})

function flipped(bytes: Uint8Array<ArrayBuffer>, at: number): Uint8Array<ArrayBuffer> {
  const changed = bytes.slice()
  changed[at] = (changed[at] ?? 0) ^ 1
  return changed
}
