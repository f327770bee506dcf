import { expect, test } from 'bun:test'
import { AEAD_EXPORT_ONLY, CipherSuite, KDF_HKDF_SHA256, type KEM } from 'hpke'
import { encodeText } from './byte-strings.ts'
import { exportSecret } from './hpke-export.ts'

test('another implementation exports the same secret', async () => {
  const [secret, info, context] = ['s'.repeat(32), 'what was verified', 'label'].map(encodeText)
  if (secret === undefined || info === undefined || context === undefined) throw new Error()
  const key = { algorithm: { name: 'given' }, extractable: true, type: 'public' as const }
  // A KEM with a known secret, so that only the rest of the other implementation is compared.
  const given = {
    ...{ id: 0x647a, type: 'KEM', name: 'given', Nsecret: 32, Nenc: 1120, Npk: 1216, Nsk: 32 },
    Encap: async () => ({ shared_secret: secret, enc: new Uint8Array(1120) }),
    DeserializePublicKey: async () => key,
  } as unknown as KEM
  const suite = new CipherSuite(() => given, KDF_HKDF_SHA256, AEAD_EXPORT_ONLY)
  const { exportedSecret } = await suite.SendExport(key, context, 32, { info })
  expect(await exportSecret(secret, info, context)).toEqual(new Uint8Array(exportedSecret))
})
