/** Key pairs of every kind the verifiers meet, with their X.509 algorithm identifiers. */
import type { Bytes } from '../bytes.ts'
import {
  ecdsaSignature,
  explicit,
  integer,
  nullValue,
  objectIdentifier,
  sequence,
} from '../der/der-writer.ts'

export type KeyKind = 'p256' | 'p384' | 'rsa-pss' | 'rsa-pkcs1'

export type TestKey = {
  /** DER of the SubjectPublicKeyInfo. */
  readonly spki: Bytes
  /** DER of the AlgorithmIdentifier that its signatures carry. */
  readonly algorithm: Bytes
  /** In the encoding of X.509: ECDSA as a DER pair. */
  sign(data: Uint8Array): Promise<Bytes>
  /** ECDSA as r ‖ s, big-endian. */
  signRaw(data: Uint8Array): Promise<Bytes>
}

const sha384 = sequence(objectIdentifier('2.16.840.1.101.3.4.2.2'), nullValue())
const pssParameters = sequence(
  explicit(0, sha384),
  explicit(1, sequence(objectIdentifier('1.2.840.113549.1.1.8'), sha384)),
  explicit(2, integer(48)),
  explicit(3, integer(1)),
)
const rsa = { modulusLength: 2048, publicExponent: Uint8Array.of(1, 0, 1) }

const kinds = {
  p256: {
    generate: { name: 'ECDSA', namedCurve: 'P-256' },
    sign: { name: 'ECDSA', hash: 'SHA-256' },
    algorithm: sequence(objectIdentifier('1.2.840.10045.4.3.2')),
  },
  p384: {
    generate: { name: 'ECDSA', namedCurve: 'P-384' },
    sign: { name: 'ECDSA', hash: 'SHA-384' },
    algorithm: sequence(objectIdentifier('1.2.840.10045.4.3.3')),
  },
  'rsa-pss': {
    generate: { name: 'RSA-PSS', hash: 'SHA-384', ...rsa },
    sign: { name: 'RSA-PSS', saltLength: 48 },
    algorithm: sequence(objectIdentifier('1.2.840.113549.1.1.10'), pssParameters),
  },
  'rsa-pkcs1': {
    generate: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', ...rsa },
    sign: { name: 'RSASSA-PKCS1-v1_5' },
    algorithm: sequence(objectIdentifier('1.2.840.113549.1.1.11'), nullValue()),
  },
} as const

export async function makeKey(kind: KeyKind): Promise<TestKey> {
  const { generate, sign, algorithm } = kinds[kind]
  const pair = (await crypto.subtle.generateKey(generate, true, [
    'sign',
    'verify',
  ])) as CryptoKeyPair
  const spki = new Uint8Array(await crypto.subtle.exportKey('spki', pair.publicKey))
  const signRaw = async (data: Uint8Array): Promise<Bytes> =>
    new Uint8Array(await crypto.subtle.sign(sign, pair.privateKey, data as Bytes))
  return {
    spki,
    algorithm,
    signRaw,
    sign: async (data) =>
      generate.name === 'ECDSA' ? ecdsaSignature(await signRaw(data)) : await signRaw(data),
  }
}
