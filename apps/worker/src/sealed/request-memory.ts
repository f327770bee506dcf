/**
 * Bounds the bytes of all sealed requests in progress. Memory is reserved before a request is read.
 */
import { ApiError } from '@privatemode/protocol/api'

/**
 * Shorter requests need no reservation: the limit on concurrent requests bounds them well enough.
 */
const shortBytes = 64 * 1024
/** Reading, opening and parsing a long request leaves several times its length behind. */
const collectedEveryBytes = 128 * 1024 * 1024

export class RequestMemory {
  readonly #limitBytes: number
  readonly #collect: () => void
  #takenBytes = 0
  #sinceCollectedBytes = 0

  /** `collect` frees the memory of earlier requests: the runtime by itself would let it pile up. */
  constructor(limitBytes: number, collect = () => Bun.gc(true)) {
    this.#limitBytes = limitBytes
    this.#collect = collect
  }

  get takenBytes(): number {
    return this.#takenBytes
  }

  /** Returns a function that releases the reservation; calling it again has no effect. */
  take(bytes: number): () => void {
    if (bytes <= shortBytes) return () => {}
    if (this.#takenBytes + bytes > this.#limitBytes) {
      throw new ApiError('overloaded', 'too many large requests at once', { retryAfterSeconds: 1 })
    }
    this.#takenBytes += bytes
    this.#sinceCollectedBytes += bytes
    if (this.#sinceCollectedBytes > collectedEveryBytes) {
      this.#sinceCollectedBytes = 0
      this.#collect()
    }
    let isTaken = true
    return () => {
      if (isTaken) this.#takenBytes -= bytes
      isTaken = false
    }
  }
}
