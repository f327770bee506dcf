/** Keeps bytes encrypted in memory: AES-256-GCM under a key that this process generates and never exposes. */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { readSync, writeSync } from 'node:fs'

const chunkBytes = 4 << 20
const tagBytes = 16

export type SealedBytes = {
  readonly id: number
  readonly chunks: readonly Uint8Array[]
  readonly bytes: number
}

export class SealedMemory {
  readonly #sealKey: KeyObject = createSecretKey(randomBytes(32))
  readonly #nameKey: KeyObject = createSecretKey(randomBytes(32))
  #nextId = 0

  /** A name for secret values by which they can be compared and stored, but not recovered. */
  nameOf(...parts: readonly (string | Uint8Array)[]): string {
    const hash = createHmac('sha256', this.#nameKey)
    for (const part of parts) {
      // As UTF-16: UTF-8 would turn every lone surrogate into the same character.
      const bytes = typeof part === 'string' ? Buffer.from(part, 'utf16le') : part
      hash.update(Uint32Array.of(bytes.length)).update(bytes)
    }
    return hash.digest('base64')
  }

  /** Seals the content of a file chunk by chunk, so that little of it is ever in clear text twice. */
  sealFile(descriptor: number, bytes: number): SealedBytes {
    const id = this.#nextId++
    const chunks: Uint8Array[] = []
    const clear = new Uint8Array(Math.min(chunkBytes, bytes))
    for (let at = 0; at < bytes; at += chunkBytes) {
      const part = clear.subarray(0, Math.min(chunkBytes, bytes - at))
      readFully(descriptor, part, at)
      const cipher = createCipheriv('aes-256-gcm', this.#sealKey, nonceOf(id, chunks.length))
      chunks.push(Buffer.concat([cipher.update(part), cipher.final(), cipher.getAuthTag()]))
    }
    clear.fill(0)
    return { id, chunks, bytes: chunks.reduce((sum, chunk) => sum + chunk.length, 0) }
  }

  /** Writes the opened bytes to a file; throws if a single bit was changed. */
  openToFile(sealed: SealedBytes, descriptor: number): void {
    let at = 0
    for (const [index, chunk] of sealed.chunks.entries()) {
      const decipher = createDecipheriv('aes-256-gcm', this.#sealKey, nonceOf(sealed.id, index))
      decipher.setAuthTag(chunk.subarray(chunk.length - tagBytes))
      const clear = decipher.update(chunk.subarray(0, chunk.length - tagBytes))
      decipher.final()
      for (let done = 0; done < clear.length; )
        done += writeSync(descriptor, clear, done, clear.length - done, at + done)
      at += clear.length
      clear.fill(0)
    }
  }
}

/** Unique under a key: every sealing has its own id, and every chunk its own number. */
function nonceOf(id: number, chunk: number): Uint8Array {
  const nonce = new DataView(new ArrayBuffer(12))
  nonce.setBigUint64(0, BigInt(id))
  nonce.setUint32(8, chunk)
  return new Uint8Array(nonce.buffer)
}

function readFully(descriptor: number, into: Uint8Array, position: number): void {
  for (let done = 0; done < into.length; ) {
    const read = readSync(descriptor, into, done, into.length - done, position + done)
    if (read === 0) throw new RangeError('the state file is shorter than it should be')
    done += read
  }
}
