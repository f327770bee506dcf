/**
 * Bounds the memory of request bodies that a server holds whole, across all its connections.
 *
 * A per-body limit alone would let a few hundred clients fill the memory. When the total is
 * reached, the largest body still arriving is dropped: small and complete requests never suffer
 * from a client that sends a lot slowly.
 */
import { MessageError } from './message-error.ts'

export type HeldBody = {
  /** Bytes held by this body. */
  readonly heldBytes: number
  /** Releases its bytes. */
  fail(error: Error): void
}

export class BodyMemory {
  readonly #limitBytes: number
  readonly #coming = new Set<HeldBody>()
  #heldBytes = 0

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Accounts for more bytes of a body; may fail this body or others. */
  take(body: HeldBody, bytes: number): void {
    this.#heldBytes += bytes
    this.#coming.add(body)
    while (this.#heldBytes > this.#limitBytes) {
      const largest = this.#largest()
      if (largest === undefined) return
      this.#coming.delete(largest)
      largest.fail(new MessageError(503, 'too many large requests at once'))
    }
  }

  /** The body is complete: it is kept until it is released. */
  complete(body: HeldBody): void {
    this.#coming.delete(body)
  }

  giveBack(body: HeldBody, bytes: number): void {
    this.#coming.delete(body)
    this.#heldBytes -= bytes
  }

  #largest(): HeldBody | undefined {
    let largest: HeldBody | undefined
    for (const body of this.#coming) {
      if (largest === undefined || body.heldBytes > largest.heldBytes) largest = body
    }
    return largest
  }
}
