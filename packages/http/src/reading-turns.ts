/**
 * Reads clients that send large bodies in turns, a few at a time.
 *
 * A socket delivers half a megabyte at once. Reading sixty of them in one turn of the event loop
 * blocks everything else for as long as copying thirty megabytes takes, again and again.
 */

export type Sender = {
  /** Stops reading from it until `resume`. */
  pause(): void
  resume(): void
}

/** Copying what these deliver at once takes a millisecond or two. */
const atOnce = 4
/** A sender that was admitted but is silent makes way for the next; it is read again once it sends. */
const patienceMs = 20
/** Smaller pieces are cheap, and their senders block no one. */
export const largePieceBytes = 64 * 1024

export class ReadingTurns {
  /** Senders being read, each with the round in which it was admitted. */
  readonly #reading = new Map<Sender, number>()
  /** Paused senders, longest wait first. */
  readonly #waiting = new Set<Sender>()
  #round = 0
  #timer: ReturnType<typeof setInterval> | undefined

  /** A large piece arrived: its sender goes to the end of the queue if there are more than a few. */
  took(sender: Sender): void {
    this.#reading.delete(sender)
    this.#waiting.delete(sender)
    if (this.#reading.size < atOnce && this.#waiting.size === 0) {
      this.#reading.set(sender, this.#round)
      // A timer has to notice when it falls silent.
      this.#watch()
      return
    }
    this.#waiting.add(sender)
    sender.pause()
    this.#letIn()
  }

  /** The sender is gone, or its body is complete. */
  leave(sender: Sender): void {
    const wasThere = this.#reading.delete(sender) || this.#waiting.delete(sender)
    if (wasThere) this.#letIn()
  }

  #letIn(): void {
    for (const sender of this.#waiting) {
      if (this.#reading.size >= atOnce) break
      this.#waiting.delete(sender)
      this.#reading.set(sender, this.#round)
      sender.resume()
    }
    this.#watch()
  }

  #watch(): void {
    if (this.#reading.size > 0) this.#timer ??= setInterval(() => this.#nextRound(), patienceMs)
  }

  #nextRound(): void {
    this.#round++
    for (const [sender, round] of this.#reading) {
      if (round < this.#round - 1) this.#reading.delete(sender)
    }
    this.#letIn()
    if (this.#reading.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
