/**
 * Bounds the bytes of all sealed requests in progress. Memory is reserved before a request is read.
 */
import { ApiError } from '@privatemode/protocol/api'

/**
 * Shorter requests need no reservation: the limit on concurrent requests bounds them well enough.
 */
const shortBytes = 64 * 1024

export class RequestMemory {
  readonly #limitBytes: number
  #takenBytes = 0

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
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
    let isTaken = true
    return () => {
      if (isTaken) this.#takenBytes -= bytes
      isTaken = false
    }
  }
}
