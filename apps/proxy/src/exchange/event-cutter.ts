/**
 * Splits a stream of Server-Sent Events at event boundaries.
 *
 * Sealed frames end anywhere. Forwarding only whole events costs a reader nothing, since it cannot
 * use a part of one, and lets us insert a comment or an error event at any time.
 */
export class EventCutter {
  #held: Uint8Array[] = []
  #heldBytes = 0

  /** The events that are now complete, in pieces; may be empty. */
  push(bytes: Uint8Array): readonly Uint8Array[] {
    const end = this.#lastEventEnd(bytes)
    if (end === 0) {
      this.#hold(bytes)
      // An event this long is not an event; forward it rather than hold it.
      return this.#heldBytes > longestEvent ? this.rest() : nothing
    }
    const isWhole = end === bytes.length
    const complete = isWhole ? bytes : bytes.subarray(0, end)
    const events = this.#held.length === 0 ? [complete] : [...this.#held, complete]
    this.#held = []
    this.#heldBytes = 0
    if (!isWhole) this.#hold(bytes.subarray(end))
    return events
  }

  /** The rest at the authenticated end of a stream. */
  rest(): readonly Uint8Array[] {
    const rest = this.#held
    this.#held = []
    this.#heldBytes = 0
    return rest
  }

  /** Holds a copy: it is short, and the frame it came in need not be kept alive. */
  #hold(bytes: Uint8Array): void {
    this.#held.push(new Uint8Array(bytes)) // Buffer's slice does not copy
    this.#heldBytes += bytes.length
  }

  /** The offset after the last empty line in these bytes; 0 if there is none. */
  #lastEventEnd(bytes: Uint8Array): number {
    const last = bytes.length - 1
    // By far the most common case: a frame that ends with an event.
    if (bytes[last] === lineFeed && bytes[last - 1] === lineFeed) return bytes.length
    let at = bytes.lastIndexOf(lineFeed)
    while (at > 0 && bytes[at - 1] !== lineFeed) at = bytes.lastIndexOf(lineFeed, at - 1)
    if (at > 0) return at + 1
    return bytes[0] === lineFeed && this.#held.at(-1)?.at(-1) === lineFeed ? 1 : 0
  }
}

const lineFeed = 0x0a
const longestEvent = 16 * 1024 * 1024
const nothing: readonly Uint8Array[] = []
