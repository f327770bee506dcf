import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { deriveXWingSeed, exportSecret } from '../../packages/protocol/src/envelope/hpke-export.ts'
import { createXWingKeyPair } from '../../packages/protocol/src/envelope/x-wing.ts'

const path = new URL('../vectors/hpke/vectors-pq.json', import.meta.url)

type HpkeVector = {
  kem_id: number
  kdf_id: number
  aead_id: number
  info: string
  ikmR: string
  pkRm: string
  enc: string
  shared_secret: string
  exports: { exporter_context: string; L: number; exported_value: string }[]
}

const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))
const hex = (value: Uint8Array) => Buffer.from(value).toString('hex')

test('the KEM and the exporter reproduce the published vectors', async () => {
  const all: HpkeVector[] = JSON.parse(readFileSync(path, 'utf8'))
  const ours = all.filter((vector) => vector.kem_id === 0x647a && vector.kdf_id === 1)
  expect(ours.length).toBeGreaterThan(0)
  for (const vector of ours) {
    const pair = await createXWingKeyPair(deriveXWingSeed(bytes(vector.ikmR)))
    expect(hex(pair.publicKey)).toBe(vector.pkRm)
    const secret = await pair.decapsulate(bytes(vector.enc))
    expect(hex(secret)).toBe(vector.shared_secret)
    expect(vector.exports.length).toBeGreaterThan(0)
    for (const { exporter_context, L, exported_value } of vector.exports) {
      expect(L).toBe(32)
      const context = bytes(exporter_context)
      const exported = await exportSecret(secret, bytes(vector.info), context, vector.aead_id)
      expect(hex(exported)).toBe(exported_value)
    }
  }
})
