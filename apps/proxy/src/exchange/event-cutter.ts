/**
 * Cuts a stream of Server-Sent Events at event ends.
 *
 * Sealed frames end anywhere. Passing on whole events only costs a reader nothing, since it cannot use a part of
 * one, and leaves every moment fit for a comment or an error event of our own.
 */
export class EventCutter {
  #held: Uint8Array[] = []
  #heldBytes = 0

  /** The events that are complete now, in pieces; none when none is. */
  push(bytes: Uint8Array): readonly Uint8Array[] {
    const end = this.#lastEventEnd(bytes)
    if (end === 0) {
      this.#hold(bytes)
      // An event this long is no event; pass it on rather than hold it.
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

  /** What is left at the authenticated end of a stream. */
  rest(): readonly Uint8Array[] {
    const rest = this.#held
    this.#held = []
    this.#heldBytes = 0
    return rest
  }

  /** A copy: it is short, and the frame that it came in need not be kept for its sake. */
  #hold(bytes: Uint8Array): void {
    this.#held.push(new Uint8Array(bytes)) // what a buffer slices is no copy
    this.#heldBytes += bytes.length
  }

  /** The offset after the last empty line that ends in these bytes; 0 if none does. */
  #lastEventEnd(bytes: Uint8Array): number {
    const last = bytes.length - 1
    // By far the most common case: a frame that ends where an event does.
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
