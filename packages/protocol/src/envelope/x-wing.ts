/** X-Wing (draft-connolly-cfrg-xwing-kem): ML-KEM-768 with X25519, as a KEM for HPKE. */
import { sha3_256, shake256 } from '@noble/hashes/sha3.js'
import { ml_kem768 } from '@noble/post-quantum/ml-kem.js'
import { I2OSP, type KEM, type Key, type KeyPair, LabeledDerive } from 'hpke'
import { encodeText, joinBytes } from './byte-strings.ts'
import type { Bytes } from './crypto-provider.ts'

const name = 'MLKEM768-X25519'
const id = 0x647a
const seedLength = 32
const encapsulationKeyLength = 1184
const ciphertextLength = 1088
const curveLength = 32

/** Draws random bytes; the platform's generator unless told. */
export type DrawRandom = (length: number) => Bytes

/** A public key has its bytes; a private key what its seed expands to, and stays in this process. */
class XWingKey implements Key {
  readonly algorithm = { name }
  readonly extractable: boolean
  readonly type: 'public' | 'private'
  readonly #publicKey: Bytes
  readonly #secret: Secret | undefined

  constructor(publicKey: Bytes, secret?: Secret) {
    this.type = secret === undefined ? 'public' : 'private'
    this.extractable = secret === undefined
    this.#publicKey = publicKey
    this.#secret = secret
  }

  static publicBytes(key: Key): Bytes {
    return (key as XWingKey).#publicKey
  }

  static secretOf(key: Key): Secret {
    const secret = (key as XWingKey).#secret
    if (secret === undefined) throw new TypeError('a private key of X-Wing is needed')
    return secret
  }
}

type Secret = { readonly decapsulationKey: Uint8Array; readonly scalar: CryptoKey }

/** The form that `hpke` takes: `new CipherSuite(xWing(), …)`. */
export function xWing(random: DrawRandom = platformRandom): () => KEM {
  return () => ({
    id,
    type: 'KEM',
    name,
    Nsecret: 32,
    Nenc: ciphertextLength + curveLength,
    Npk: encapsulationKeyLength + curveLength,
    Nsk: seedLength,
    DeriveKeyPair: async (ikm) => expand(await deriveSeed(ikm)),
    GenerateKeyPair: () => expand(random(seedLength)),
    SerializePublicKey: async (key) => XWingKey.publicBytes(key),
    DeserializePublicKey: async (bytes) => new XWingKey(new Uint8Array(bytes)),
    SerializePrivateKey: refuseToHandOut,
    DeserializePrivateKey: async (seed) => (await expand(new Uint8Array(seed))).privateKey,
    Encap: (key) => encapsulate(XWingKey.publicBytes(key), random),
    Decap: (enc, key) => decapsulate(new Uint8Array(enc), key),
  })
}

/** Encapsulate (section 5.4): the ciphertext is ML-KEM's, then an X25519 public key. */
async function encapsulate(publicKey: Bytes, random: DrawRandom) {
  const curvePublic = publicKey.subarray(encapsulationKeyLength)
  const scalar = await importScalar(random(curveLength))
  const curveCiphertext = await multiply(scalar, basePoint)
  const lattice = ml_kem768.encapsulate(
    publicKey.subarray(0, encapsulationKeyLength),
    random(seedLength),
  )
  const curveSecret = await multiply(scalar, curvePublic)
  return {
    shared_secret: combine(lattice.sharedSecret, curveSecret, curveCiphertext, curvePublic),
    enc: joinBytes([new Uint8Array(lattice.cipherText), curveCiphertext]),
  }
}

async function decapsulate(enc: Bytes, key: Key): Promise<Bytes> {
  const { decapsulationKey, scalar } = XWingKey.secretOf(key)
  const curveCiphertext = enc.subarray(ciphertextLength)
  const latticeSecret = ml_kem768.decapsulate(enc.subarray(0, ciphertextLength), decapsulationKey)
  const curveSecret = await multiply(scalar, curveCiphertext)
  const curvePublic = XWingKey.publicBytes(key).subarray(encapsulationKeyLength)
  return combine(latticeSecret, curveSecret, curveCiphertext, curvePublic)
}

const label = encodeText('\\.//^\\')

/** Combiner (section 5.3). ML-KEM's ciphertext may be left out: its secret already binds it. */
function combine(
  latticeSecret: Uint8Array,
  curveSecret: Bytes,
  curveCiphertext: Bytes,
  curvePublic: Bytes,
): Bytes {
  const parts = [new Uint8Array(latticeSecret), curveSecret, curveCiphertext, curvePublic, label]
  return new Uint8Array(sha3_256(joinBytes(parts)))
}

/** expandDecapsulationKey (section 5.2): 32 bytes make both key pairs. */
async function expand(seed: Bytes): Promise<KeyPair> {
  const expanded = shake256(seed, { dkLen: 96 })
  const { publicKey, secretKey } = ml_kem768.keygen(expanded.subarray(0, 64))
  const scalar = await importScalar(new Uint8Array(expanded.subarray(64)))
  const bytes = joinBytes([new Uint8Array(publicKey), await multiply(scalar, basePoint)])
  return {
    publicKey: new XWingKey(bytes),
    privateKey: new XWingKey(bytes, { decapsulationKey: secretKey, scalar }),
  }
}

/** DeriveKeyPair of draft-ietf-hpke-pq, section 4: SHAKE256 under a label. */
async function deriveSeed(ikm: Uint8Array): Promise<Bytes> {
  const suite = joinBytes([encodeText('KEM'), new Uint8Array(I2OSP(id, 2))])
  const kdf = { Derive: async (input: Uint8Array, dkLen: number) => shake256(input, { dkLen }) }
  const seedLabel = encodeText('DeriveKeyPair')
  const seed = await LabeledDerive(kdf, suite, ikm, seedLabel, new Uint8Array(), seedLength)
  return new Uint8Array(seed)
}

const basePoint = Uint8Array.of(9, ...new Uint8Array(31))
// RFC 8410: a private key of X25519 is these bytes of DER, then the scalar.
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

async function refuseToHandOut(): Promise<never> {
  throw new TypeError('a private key of X-Wing is not handed out')
}

const platformRandom: DrawRandom = (length) => crypto.getRandomValues(new Uint8Array(length))
