/** Decides which request bodies are buffered for failover to a second worker, within a budget. */
export type BodyLimits = {
  /** Maximum body size. */
  readonly maxBytes: number
  /** Larger bodies are streamed, and cannot be sent to a second worker. */
  readonly heldBytes: number
  /** Total of all buffered bodies; above it, bodies are streamed. */
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

  /** Reserves memory for a body; false if it has to be streamed. */
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
