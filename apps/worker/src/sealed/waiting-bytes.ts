/** Bytes on their way from the engine to the next tick, no more than a limit. */
import { type Bytes, joinBytes } from '@privatemode/protocol/envelope'
import { untilTick } from './shared-ticks.ts'

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

  /** Whether the source has given all it will give. */
  get closed(): boolean {
    return this.#closed
  }

  /** Whether all was taken and no more will come; throws what broke the source. */
  get ended(): boolean {
    if (this.#failure !== undefined) throw this.#failure
    return this.#closed && this.#length === 0
  }

  /**
   * Reads the source to its end, as fast as what waits is taken; a failure shows in `ended`. With a
   * head start the source is asked for more only when the first piece is on its way: those after it
   * may be much work, and gateway and client may need the same processor.
   */
  async fill(pieces: AsyncIterable<Bytes>, headStartMs = 0): Promise<void> {
    let startMs = headStartMs
    try {
      for await (const piece of pieces) {
        await this.#add(piece)
        if (this.#abandoned) break
        if (startMs > 0) await untilTick(performance.now() + startMs)
        startMs = 0
      }
    } catch (error) {
      this.#failure = error
    }
    this.#closed = true
    this.#wake?.()
    this.#onClose?.()
  }

  async #add(bytes: Bytes): Promise<void> {
    this.#parts.push(bytes)
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

  /** Resolves at that moment, or earlier when the source has given all it will give. */
  async untilClosed(moment: Promise<void> | undefined): Promise<void> {
    if (this.#closed || moment === undefined) return
    await new Promise<void>((resolve) => {
      this.#onClose = resolve
      void moment.then(resolve)
    })
  }

  take(most: number): Bytes {
    const all = joinBytes(this.#parts)
    const taken = all.subarray(0, most)
    this.#parts = taken.length < all.length ? [all.subarray(most)] : []
    this.#length = all.length - taken.length
    this.#room?.()
    return taken
  }

  /** Nobody will take any more: the source is told to stop. */
  abandon(): void {
    this.#abandoned = true
    this.#room?.()
  }
}
