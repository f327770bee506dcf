/** SHA-256 (FIPS 180-4) of data that arrives in pieces, which WebCrypto cannot hash; a fifth of a library's size. */
import type { Bytes } from '@privatemode/protocol/envelope'

const blockLength = 64

// Sections 4.2.2 and 5.3.3: the first 32 bits after the point of the square and cube roots of the
// first primes, in integers: engines may round roots of fractions differently.
const primes: bigint[] = []
for (let number = 2n; primes.length < 64; number++) {
  if (primes.every((prime) => number % prime !== 0n)) primes.push(number)
}
function fractionOfRoot(number: bigint, degree: bigint): number {
  let root = 0n
  for (let bit = 1n << 36n; bit > 0n; bit >>= 1n) {
    if ((root + bit) ** degree <= number << (32n * degree)) root += bit
  }
  return Number(BigInt.asIntN(32, root))
}
const initial = Int32Array.from(primes.slice(0, 8), (prime) => fractionOfRoot(prime, 2n))
const rounds = Int32Array.from(primes, (prime) => fractionOfRoot(prime, 3n))

export const sha256 = (data: Uint8Array): Bytes => new Sha256().update(data).digest()

export class Sha256 {
  readonly #state = initial.slice()
  readonly #block = new Uint8Array(blockLength)
  #length = 0

  update(data: Uint8Array): this {
    for (let start = 0; start < data.length; ) {
      const used = this.#length % blockLength
      const length = Math.min(blockLength - used, data.length - start)
      if (length === blockLength) compress(this.#state, data, start)
      else this.#block.set(data.subarray(start, start + length), used)
      if (used > 0 && used + length === blockLength) compress(this.#state, this.#block)
      this.#length += length
      start += length
    }
    words.fill(0)
    return this
  }

  /** Of all data so far; more may follow. */
  digest(): Bytes {
    // Section 5.1.1: a one bit, zeros, and the length in bits.
    const used = this.#length % blockLength
    const tail = new Uint8Array(used < 56 ? blockLength : 2 * blockLength)
    tail.set(this.#block.subarray(0, used))
    tail[used] = 0x80
    new DataView(tail.buffer).setBigUint64(tail.length - 8, 8n * BigInt(this.#length))
    const state = this.#state.slice()
    for (let start = 0; start < tail.length; start += blockLength) compress(state, tail, start)
    words.fill(0)
    const digest = new DataView(new ArrayBuffer(32))
    state.forEach((word, index) => {
      digest.setInt32(4 * index, word)
    })
    return new Uint8Array(digest.buffer)
  }
}

/** The message schedule, shared by all hashes; it may be derived from secrets, so it is cleared. */
const words = new Int32Array(64)

/** Section 6.2.2, on the block of `data` that begins at `start`. */
function compress(state: Int32Array, data: Uint8Array, start = 0): void {
  const view = new DataView(data.buffer, data.byteOffset + start, blockLength)
  for (let t = 0; t < 16; t++) words[t] = view.getInt32(4 * t)
  for (let t = 16; t < 64; t++) {
    const near = at(words, t - 2)
    const far = at(words, t - 15)
    const mixed = rotate(near, 17) ^ rotate(near, 19) ^ (near >>> 10)
    const mixedFar = rotate(far, 7) ^ rotate(far, 18) ^ (far >>> 3)
    words[t] = mixed + at(words, t - 7) + mixedFar + at(words, t - 16)
  }
  let a = at(state, 0)
  let b = at(state, 1)
  let c = at(state, 2)
  let d = at(state, 3)
  let e = at(state, 4)
  let f = at(state, 5)
  let g = at(state, 6)
  let h = at(state, 7)
  for (let t = 0; t < 64; t++) {
    const chosen = (e & f) ^ (~e & g)
    const first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + chosen
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority
    const added = (first + at(rounds, t) + at(words, t)) | 0
    h = g
    g = f
    f = e
    e = (d + added) | 0
    d = c
    c = b
    b = a
    a = (added + second) | 0
  }
  state[0] = at(state, 0) + a
  state[1] = at(state, 1) + b
  state[2] = at(state, 2) + c
  state[3] = at(state, 3) + d
  state[4] = at(state, 4) + e
  state[5] = at(state, 5) + f
  state[6] = at(state, 6) + g
  state[7] = at(state, 7) + h
}

const at = (words: Int32Array, index: number): number => words[index] as number

const rotate = (word: number, by: number) => (word >>> by) | (word << (32 - by))
