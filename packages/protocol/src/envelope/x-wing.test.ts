import { expect, test } from 'bun:test'
import { rejection, thrown } from '../../../../test/rejection.ts'
import type { Bytes } from './crypto-provider.ts'
import { createXWingKeyPair, encapsulateXWing } from './x-wing.ts'

const bytes = (hex: string): Bytes => new Uint8Array(Buffer.from(hex, 'hex'))
const hex = (value: Uint8Array) => Buffer.from(value).toString('hex')

// draft-connolly-cfrg-xwing-kem, appendix C, the first vector.
const published = {
  seed: bytes('7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26'),
  mlKemRandom: bytes('3cb1eea988004b93103cfb0aeefd2a686e01fa4a58e8a3639ca8a1e3f9ae57e2'),
  x25519Random: bytes('35b8cc873c23dc62b8d260169afa2f75ab916a58d974918835d25e6a435085b2'),
  secret: 'd2df0522128f09dd8e2c92b1e905c793d8f57a54c3da25861f10bf4ca613e384',
}

test('the published test vector yields the published secret on both sides', async () => {
  const draws = [published.x25519Random, published.mlKemRandom]
  const pair = await createXWingKeyPair(published.seed)
  const sent = await encapsulateXWing(pair.publicKey, () => draws.shift() ?? new Uint8Array())
  expect(sent.encapsulation.length).toBe(1120)
  expect(hex(sent.secret)).toBe(published.secret)
  expect(hex(await pair.decapsulate(sent.encapsulation))).toBe(published.secret)
})

test('encapsulations differ, and each opens to its own secret', async () => {
  const pair = await createXWingKeyPair()
  const [one, two] = [
    await encapsulateXWing(pair.publicKey),
    await encapsulateXWing(pair.publicKey),
  ]
  expect(hex(one.secret)).not.toBe(hex(two.secret))
  expect(hex(await pair.decapsulate(one.encapsulation))).toBe(hex(one.secret))
})

test('an encapsulation changed in either half opens to a different secret', async () => {
  const pair = await createXWingKeyPair()
  const { encapsulation, secret } = await encapsulateXWing(pair.publicKey)
  for (const position of [0, 1087, 1088, 1110]) {
    const changed = new Uint8Array(encapsulation)
    changed[position] = (changed[position] ?? 0) ^ 1
    expect(hex(await pair.decapsulate(changed))).not.toBe(hex(secret))
  }
})

test('a point of small order is refused on both sides', async () => {
  const pair = await createXWingKeyPair()
  const { encapsulation } = await encapsulateXWing(pair.publicKey)
  expect(await thrown(pair.decapsulate(new Uint8Array(encapsulation).fill(0, 1088)))).toThrow()
  const weak = new Uint8Array(pair.publicKey).fill(0, 1184)
  expect(await thrown(encapsulateXWing(weak))).toThrow()
})

test('keys, seeds and encapsulations of the wrong length are refused', async () => {
  const pair = await createXWingKeyPair()
  const short = { code: 'malformed' }
  expect(await rejection(encapsulateXWing(pair.publicKey.subarray(1)))).toMatchObject(short)
  expect(await rejection(pair.decapsulate(new Uint8Array(1121)))).toMatchObject(short)
  expect(await rejection(createXWingKeyPair(new Uint8Array(31)))).toMatchObject(short)
})
