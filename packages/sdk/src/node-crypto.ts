/** The client's crypto provider in Node and Bun: short messages without a trip to WebCrypto's thread. */
import {
  type AeadKey,
  andThen,
  type Bytes,
  type CryptoProvider,
  type Eventually,
  joinBytes,
  webCiphers,
} from '@privatemode/protocol/envelope'

/** The part of `node:crypto` that is used here. */
type NodeCrypto = {
  createHash(algorithm: string): Hash
  createHmac(algorithm: string, key: Bytes): Hash
  createCipheriv(algorithm: string, key: Bytes, nonce: Bytes): Cipher
  createDecipheriv(algorithm: string, key: Bytes, nonce: Bytes): Decipher
}

type Hash = { update(data: Bytes): Hash; digest(): Bytes }

type Cipher = {
  setAAD(aad: Bytes): void
  update(data: Bytes): Bytes
  final(): Bytes
  getAuthTag(): Bytes
}

type Decipher = Omit<Cipher, 'getAuthTag'> & { setAuthTag(tag: Bytes): void }

type Host = { readonly getBuiltinModule?: (name: string) => NodeCrypto | undefined }

const algorithm = 'aes-256-gcm'
const tagLength = 16
const firstBlock = Uint8Array.of(1)
/** Longer messages are left to the other thread: this one stays free for the application. */
const longestHere = 64 * 1024

/**
 * The provider of Node and Bun, undefined elsewhere: other runtimes only imitate `node:crypto`. There
 * is no import of it, so bundles for browsers and edge runtimes need not know it.
 */
export function nodeCryptoProvider(): CryptoProvider | undefined {
  const { process, navigator } = globalThis as { process?: Host; navigator?: Navigator }
  if (!/^(Node|Bun)\b/.test(navigator?.userAgent ?? 'Node')) return undefined
  const node = process?.getBuiltinModule?.('crypto')
  return (
    node && {
      random: webCiphers.random,
      sha256: (data) => node.createHash('sha256').update(data).digest(),
      // 32 bytes are exactly one block of HKDF-Expand: T(1) = HMAC(PRK, info ‖ 0x01).
      expand: (secret, info) =>
        node.createHmac('sha256', secret).update(info).update(firstBlock).digest(),
      aeadKey: (raw) => new NodeKey(node, raw),
    }
  )
}

class NodeKey implements AeadKey {
  readonly #node: NodeCrypto
  readonly #raw: Bytes
  #web: Eventually<AeadKey> | undefined

  constructor(node: NodeCrypto, raw: Bytes) {
    this.#node = node
    this.#raw = raw
  }

  seal(nonce: Bytes, aad: Bytes, plaintext: readonly Bytes[]): Eventually<readonly Bytes[]> {
    const length = plaintext.reduce((sum, part) => sum + part.length, 0)
    if (length > longestHere) return andThen(this.#key(), (key) => key.seal(nonce, aad, plaintext))
    const cipher = this.#node.createCipheriv(algorithm, this.#raw, nonce)
    cipher.setAAD(aad)
    // A copy costs less than a call into the cipher for each part.
    const sealed = cipher.update(joinBytes(plaintext))
    cipher.final()
    return [sealed, cipher.getAuthTag()]
  }

  open(nonce: Bytes, aad: Bytes, ciphertextAndTag: Bytes): Eventually<Bytes | undefined> {
    const end = ciphertextAndTag.length - tagLength
    if (end < 0) return undefined
    if (end > longestHere)
      return andThen(this.#key(), (key) => key.open(nonce, aad, ciphertextAndTag))
    const decipher = this.#node.createDecipheriv(algorithm, this.#raw, nonce)
    decipher.setAAD(aad)
    decipher.setAuthTag(ciphertextAndTag.subarray(end))
    const plaintext = plain(decipher.update(ciphertextAndTag.subarray(0, end)))
    try {
      decipher.final()
    } catch {
      return undefined // in GCM, final only fails if the tag does not match
    }
    return plaintext
  }

  #key(): Eventually<AeadKey> {
    this.#web ??= webCiphers.aeadKey(this.#raw)
    return this.#web
  }
}

/** For what applications see: a `Buffer` differs from what the platform promises, its `slice` shares memory. */
const plain = ({ buffer, byteOffset, length }: Bytes): Bytes =>
  new Uint8Array(buffer, byteOffset, length)
