import { expect, test } from 'bun:test'
import type { Bytes } from './crypto-provider.ts'
import { xWing } from './x-wing.ts'

const bytes = (hex: string): Bytes => new Uint8Array(Buffer.from(hex, 'hex'))
const hex = (value: Uint8Array) => Buffer.from(value).toString('hex')

// draft-connolly-cfrg-xwing-kem, appendix C, the first vector.
const published = {
  seed: bytes('7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26'),
  latticeRandom: bytes('3cb1eea988004b93103cfb0aeefd2a686e01fa4a58e8a3639ca8a1e3f9ae57e2'),
  curveRandom: bytes('35b8cc873c23dc62b8d260169afa2f75ab916a58d974918835d25e6a435085b2'),
  secret: 'd2df0522128f09dd8e2c92b1e905c793d8f57a54c3da25861f10bf4ca613e384',
}

test('a published encapsulation gives the published secret on both sides', async () => {
  const draws = [published.curveRandom, published.latticeRandom]
  const kem = xWing(() => draws.shift() ?? new Uint8Array())()
  const privateKey = await kem.DeserializePrivateKey(published.seed, false)
  const publicKey = await kem.DeserializePublicKey(await kem.SerializePublicKey(privateKey))
  const { enc, shared_secret } = await kem.Encap(publicKey)
  expect(enc.length).toBe(kem.Nenc)
  expect(hex(shared_secret)).toBe(published.secret)
  expect(hex(await kem.Decap(enc, privateKey, undefined))).toBe(published.secret)
})

test('encapsulations differ, and each opens to its own secret', async () => {
  const kem = xWing()()
  const { publicKey, privateKey } = await kem.GenerateKeyPair(false)
  const [one, two] = [await kem.Encap(publicKey), await kem.Encap(publicKey)]
  expect(hex(one.shared_secret)).not.toBe(hex(two.shared_secret))
  expect(hex(await kem.Decap(one.enc, privateKey, undefined))).toBe(hex(one.shared_secret))
})

test('a changed encapsulation opens to another secret, in either half', async () => {
  const kem = xWing()()
  const { publicKey, privateKey } = await kem.GenerateKeyPair(false)
  const { enc, shared_secret } = await kem.Encap(publicKey)
  for (const position of [0, 1087, 1088, 1110]) {
    const changed = new Uint8Array(enc)
    changed[position] = (changed[position] ?? 0) ^ 1
    const opened = await kem.Decap(changed, privateKey, undefined)
    expect(hex(opened)).not.toBe(hex(shared_secret))
  }
})

test('a point of small order is refused on both sides', async () => {
  const kem = xWing()()
  const { publicKey, privateKey } = await kem.GenerateKeyPair(false)
  const { enc } = await kem.Encap(publicKey)
  const flat = new Uint8Array(enc).fill(0, 1088)
  await expect(kem.Decap(flat, privateKey, undefined)).rejects.toThrow()
  const weak = new Uint8Array(await kem.SerializePublicKey(publicKey)).fill(0, 1184)
  await expect(kem.Encap(await kem.DeserializePublicKey(weak))).rejects.toThrow()
})

test('a private key is never handed out', async () => {
  const kem = xWing()()
  const { publicKey, privateKey } = await kem.GenerateKeyPair(true)
  expect(privateKey.extractable).toBe(false)
  await expect(kem.SerializePrivateKey(privateKey)).rejects.toThrow('not handed out')
  await expect(kem.Decap(new Uint8Array(kem.Nenc), publicKey, undefined)).rejects.toThrow(TypeError)
})
