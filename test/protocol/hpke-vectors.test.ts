import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { AEAD_ChaCha20Poly1305, CipherSuite, KDF_HKDF_SHA256 } from 'hpke'
import { xWing } from '../../packages/protocol/src/envelope/x-wing.ts'

const path = new URL('../../../shared/vectors/hpke/vectors-pq.json', import.meta.url)
const present = existsSync(path)

type HpkeVector = {
  kem_id: number
  kdf_id: number
  aead_id: number
  info: string
  ikmR: string
  pkRm: string
  enc: string
  exports: { exporter_context: string; L: number; exported_value: string }[]
}

const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))

test.skipIf(!present)(
  `the KEM reproduces the published X-Wing vectors${present ? '' : ' (skipped: ../shared/vectors is not there)'}`,
  async () => {
    const all: HpkeVector[] = JSON.parse(readFileSync(path, 'utf8'))
    const ours = all.filter((vector) => vector.kem_id === 0x647a && vector.kdf_id === 1)
    expect(ours.length).toBeGreaterThan(0)
    for (const vector of ours) {
      const suite = new CipherSuite(xWing(), KDF_HKDF_SHA256, AEAD_ChaCha20Poly1305)
      const pair = await suite.DeriveKeyPair(bytes(vector.ikmR), true)
      expect(Buffer.from(await suite.SerializePublicKey(pair.publicKey)).toString('hex')).toBe(
        vector.pkRm,
      )
      const recipient = await suite.SetupRecipient(pair, bytes(vector.enc), {
        info: bytes(vector.info),
      })
      for (const { exporter_context, L, exported_value } of vector.exports) {
        const exported = await recipient.Export(bytes(exporter_context), L)
        expect(Buffer.from(exported).toString('hex')).toBe(exported_value)
      }
    }
  },
)
