import { expect, test } from 'bun:test'
import { formatHex } from '@privatemode/protocol/envelope'
import fc from 'fast-check'
import { Sha256, sha256 } from './sha256.ts'

const hex = (text: string) => formatHex(sha256(new TextEncoder().encode(text)))

test('the examples of the standard have their digests', () => {
  // FIPS 180-4, examples of SHA-256: one block, two blocks, and a million letters.
  expect(hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  expect(hex('abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq')).toBe(
    '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
  )
  expect(hex('a'.repeat(1_000_000))).toBe(
    'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0',
  )
})

test('every length around one and two blocks has the digest that WebCrypto gives', async () => {
  for (let length = 0; length <= 200; length++) {
    const data = crypto.getRandomValues(new Uint8Array(length))
    const expected = new Uint8Array(await crypto.subtle.digest('SHA-256', data))
    expect(formatHex(sha256(data))).toBe(formatHex(expected))
  }
})

test('pieces give the digest of the whole, and a digest on the way changes nothing', () => {
  const piece = fc.uint8Array({ maxLength: 150 })
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const hash = new Sha256()
      for (const one of pieces) {
        hash.update(one)
        hash.digest()
      }
      const whole = Uint8Array.from(pieces.flatMap((one) => [...one]))
      expect(hash.digest()).toEqual(sha256(whole))
    }),
  )
})
