/** X-Wing (draft-connolly-cfrg-xwing-kem): ML-KEM-768 and X25519 as one KEM. */
import { sha3_256, shake256 } from '@noble/hashes/sha3.js'
import { ml_kem768 } from '@noble/post-quantum/ml-kem.js'
import { encodeText, joinBytes } from './byte-strings.ts'
import type { Bytes } from './crypto-provider.ts'
import { EnvelopeError } from './envelope-error.ts'

/** Its KEM id in the HPKE registry. */
export const xWingId = 0x647a
export const xWingSeedLength = 32
const mlKemKeyLength = 1184
const mlKemCiphertextLength = 1088
const x25519Length = 32

/** Draws random bytes; defaults to the platform's generator. */
export type DrawRandom = (length: number) => Bytes

export type XWingKeyPair = {
  readonly publicKey: Bytes
  /** The shared secret of an encapsulation; a modified one yields a different secret. */
  decapsulate(encapsulation: Bytes): Promise<Bytes>
}

export type Encapsulated = { readonly secret: Bytes; readonly encapsulation: Bytes }

/** Encapsulate (section 5.4): the encapsulation is ML-KEM's ciphertext, then an X25519 key. */
export async function encapsulateXWing(
  publicKey: Bytes,
  random: DrawRandom = platformRandom,
): Promise<Encapsulated> {
  requireLength(publicKey, mlKemKeyLength + x25519Length, 'public key')
  const x25519Public = publicKey.subarray(mlKemKeyLength)
  const scalar = await importScalar(random(x25519Length))
  const x25519Ciphertext = await multiply(scalar, basePoint)
  const mlKem = ml_kem768.encapsulate(publicKey.subarray(0, mlKemKeyLength), random(32))
  const x25519Secret = await multiply(scalar, x25519Public)
  return {
    secret: combine(mlKem.sharedSecret, x25519Secret, x25519Ciphertext, x25519Public),
    encapsulation: joinBytes([new Uint8Array(mlKem.cipherText), x25519Ciphertext]),
  }
}

/** expandDecapsulationKey (section 5.2): 32 bytes expand to both key pairs. */
export async function createXWingKeyPair(
  seed: Bytes = platformRandom(xWingSeedLength),
): Promise<XWingKeyPair> {
  requireLength(seed, xWingSeedLength, 'seed')
  const expanded = shake256(seed, { dkLen: 96 })
  const mlKem = ml_kem768.keygen(expanded.subarray(0, 64))
  const scalar = await importScalar(new Uint8Array(expanded.subarray(64)))
  const x25519Public = await multiply(scalar, basePoint)
  return {
    publicKey: joinBytes([new Uint8Array(mlKem.publicKey), x25519Public]),
    async decapsulate(encapsulation) {
      requireLength(encapsulation, mlKemCiphertextLength + x25519Length, 'encapsulation')
      const ciphertext = encapsulation.subarray(0, mlKemCiphertextLength)
      const mlKemSecret = ml_kem768.decapsulate(ciphertext, mlKem.secretKey)
      const x25519Ciphertext = encapsulation.subarray(mlKemCiphertextLength)
      const x25519Secret = await multiply(scalar, x25519Ciphertext)
      return combine(mlKemSecret, x25519Secret, x25519Ciphertext, x25519Public)
    },
  }
}

const label = encodeText('\\.//^\\')

/** Combiner (section 5.3). ML-KEM's ciphertext may be omitted: its secret already binds it. */
function combine(
  mlKemSecret: Uint8Array,
  x25519Secret: Bytes,
  x25519Ciphertext: Bytes,
  x25519Public: Bytes,
): Bytes {
  const parts = [new Uint8Array(mlKemSecret), x25519Secret, x25519Ciphertext, x25519Public, label]
  return new Uint8Array(sha3_256(joinBytes(parts)))
}

const basePoint = Uint8Array.of(9, ...new Uint8Array(31))
// RFC 8410: an X25519 private key in PKCS #8 is this DER prefix followed by the scalar.
const pkcs8 = Uint8Array.of(48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 110, 4, 34, 4, 32)

function importScalar(scalar: Bytes): Promise<CryptoKey> {
  const key = joinBytes([pkcs8, scalar])
  return crypto.subtle.importKey('pkcs8', key, 'X25519', false, ['deriveBits'])
}

/** X25519 (RFC 7748). The platform refuses a point of small order, whose product is zero. */
async function multiply(scalar: CryptoKey, point: Bytes): Promise<Bytes> {
  const key = await crypto.subtle.importKey('raw', point, 'X25519', true, [])
  const algorithm = { name: 'X25519', public: key }
  return new Uint8Array(await crypto.subtle.deriveBits(algorithm, scalar, 256))
}

function requireLength(bytes: Bytes, length: number, what: string): void {
  if (bytes.length === length) return
  throw new EnvelopeError('malformed', `${what} has ${bytes.length} bytes, expected ${length}`)
}

const platformRandom: DrawRandom = (length) => crypto.getRandomValues(new Uint8Array(length))
