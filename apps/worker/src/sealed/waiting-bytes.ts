/** A bounded buffer of bytes on their way from the engine to the next tick. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Bytes } from '@privatemode/protocol/envelope'

export class WaitingBytes {
  readonly #limit: number
  #parts: Bytes[] = []
  #length = 0
  #closed = false
  #abandoned = false
  #failure: unknown
  #wake: (() => void) | undefined
  #room: (() => void) | undefined
  #onClose: (() => void) | undefined

  constructor(limit: number) {
    this.#limit = limit
  }

  get length(): number {
    return this.#length
  }

  /** Whether the source is exhausted. */
  get closed(): boolean {
    return this.#closed
  }

  /** Whether everything was taken and no more will come; throws if the source failed. */
  get ended(): boolean {
    if (this.#failure !== undefined) throw this.#failure
    return this.#closed && this.#length === 0
  }

  /**
   * Reads the source to its end, as fast as the buffer is emptied; a failure surfaces in `ended`.
   * With a head start, others get a turn to send the first piece before the source is asked for
   * more, which may be a lot of work.
   */
  async fill(pieces: AsyncIterable<Bytes>, hasHeadStart = false): Promise<void> {
    let isAhead = !hasHeadStart
    try {
      for await (const piece of pieces) {
        await this.#add(piece)
        if (this.#abandoned) break
        if (isAhead) continue
        isAhead = true
        await nextTurn()
      }
    } catch (error) {
      this.#failure = error
    }
    this.#closed = true
    this.#wake?.()
    this.#onClose?.()
  }

  async #add(bytes: Bytes): Promise<void> {
    if (bytes.length > 0) this.#parts.push(bytes)
    this.#length += bytes.length
    this.#wake?.()
    while (this.#length > this.#limit && !this.#abandoned) {
      await new Promise<void>((resolve) => {
        this.#room = resolve
      })
    }
  }

  async untilAny(): Promise<void> {
    if (this.#length > 0 || this.#closed) return
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
  }

  /** Resolves at that moment, or earlier if the source is exhausted. */
  async untilClosed(moment: Promise<void> | undefined): Promise<void> {
    if (this.#closed || moment === undefined) return
    await new Promise<void>((resolve) => {
      this.#onClose = resolve
      void moment.then(resolve)
    })
  }

  /** At most this many bytes, in the parts in which they came; none of them is empty. */
  take(most: number): readonly Bytes[] {
    const taken: Bytes[] = []
    const leftLength = Math.max(0, this.#length - most)
    while (this.#length > leftLength) {
      const part = this.#parts.shift() ?? new Uint8Array()
      const piece = part.subarray(0, this.#length - leftLength)
      if (piece.length < part.length) this.#parts.unshift(part.subarray(piece.length))
      taken.push(piece)
      this.#length -= piece.length
    }
    this.#room?.()
    return taken
  }

  /** No more will be taken: stops the source. */
  abandon(): void {
    this.#abandoned = true
    this.#room?.()
  }
}
