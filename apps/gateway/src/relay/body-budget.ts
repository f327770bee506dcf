/** Decides which request bodies are held, so that a second worker can be asked, within a budget. */
export type BodyLimits = {
  /** Largest body at all. */
  readonly maxBytes: number
  /** Larger ones are streamed, and not sent to a second worker. */
  readonly heldBytes: number
  /** All held bodies together; beyond it bodies are streamed. */
  readonly heldBytesTotal: number
}

export class BodyBudget {
  readonly limits: BodyLimits
  #heldBytes = 0

  constructor(limits: BodyLimits) {
    this.limits = limits
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Reserves room for a body; false if it has to be streamed. */
  hold(lengthBytes: number): boolean {
    const total = this.#heldBytes + lengthBytes
    if (lengthBytes > this.limits.heldBytes || total > this.limits.heldBytesTotal) return false
    this.#heldBytes = total
    return true
  }

  release(lengthBytes: number): void {
    this.#heldBytes -= lengthBytes
  }
}
