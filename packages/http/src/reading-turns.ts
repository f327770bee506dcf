/**
 * Who may be read from, of those who send much: a few at a time, in turns.
 *
 * A socket gives half a megabyte at once. Sixty of them that are read in one turn of the event loop
 * hold everybody else up for as long as copying thirty megabytes takes, again and again.
 */

export type Sender = {
  /** Nothing is read from it until `resume`. */
  pause(): void
  resume(): void
}

/** Copying as much as these give at once takes a millisecond or two. */
const atOnce = 4
/** Who was let in and sends nothing makes room for the next; it is read again when it does send. */
const patienceMs = 20
/** Smaller pieces cost little, and whoever sends them holds nobody up. */
export const largePieceBytes = 64 * 1024

export class ReadingTurns {
  /** Those who are read from, each with the round in which it was let in. */
  readonly #reading = new Map<Sender, number>()
  /** Those who are paused, longest first. */
  readonly #waiting = new Set<Sender>()
  #round = 0
  #timer: ReturnType<typeof setInterval> | undefined

  /** A large piece came: its sender goes behind the others, where there are more than a few. */
  took(sender: Sender): void {
    this.#reading.delete(sender)
    this.#waiting.delete(sender)
    if (this.#reading.size < atOnce && this.#waiting.size === 0) {
      this.#reading.set(sender, this.#round)
      // Somebody has to notice when it falls silent.
      this.#watch()
      return
    }
    this.#waiting.add(sender)
    sender.pause()
    this.#letIn()
  }

  /** It is gone, or what it sends is over. */
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
