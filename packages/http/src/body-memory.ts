/**
 * Bounds the memory of request bodies that a server holds whole, across all its connections.
 *
 * A limit for each body alone would let a few hundred clients fill the memory. When the total is
 * reached, the largest body that is still arriving is dropped: small requests, and complete ones,
 * never pay for a client that sends much and slowly.
 */
import { MessageError } from './message-error.ts'

export type HeldBody = {
  /** Bytes that this body takes up. */
  readonly heldBytes: number
  /** Gives its bytes back. */
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

  /** More of a body has come; may fail this one or others. */
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

  /** The body is complete: it is kept until it is given back. */
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
