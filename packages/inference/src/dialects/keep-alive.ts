/** Passes bytes on and breaks long silences with a ping, without a timer per token. */

export type KeepAliveOptions = {
  readonly ping: Uint8Array
  readonly periodMs: number
  /** Ends the work behind the source when the reader leaves, even in the middle of a read. */
  readonly stop: () => void
}

/**
 * One slow timer checks whether a reader has waited too long. A tick is a quarter of the period and
 * pings are sent from three quarters on, so no silence exceeds the period.
 */
export class KeepAlive implements AsyncIterableIterator<Uint8Array> {
  readonly #source: AsyncIterator<Uint8Array>
  readonly #options: KeepAliveOptions
  readonly #timer: ReturnType<typeof setInterval>
  #reader: ((result: IteratorResult<Uint8Array>) => void) | undefined
  #pending: Promise<IteratorResult<Uint8Array>> | undefined
  #silentTicks = 0

  constructor(source: AsyncIterator<Uint8Array>, options: KeepAliveOptions) {
    this.#source = source
    this.#options = options
    this.#timer = setInterval(() => this.#tick(), options.periodMs / 4)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    // After a ping, the same read of the source is still pending and is awaited again.
    this.#pending ??= this.#source.next()
    const pending = this.#pending
    return new Promise((resolve, reject) => {
      this.#reader = resolve
      pending.then(
        (result) => {
          if (this.#settle(resolve, result.done === true)) resolve(result)
        },
        (error) => {
          if (this.#settle(resolve, true)) reject(error)
        },
      )
    })
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    clearInterval(this.#timer)
    this.#options.stop()
    await this.#source.return?.()
    return { done: true, value: undefined }
  }

  /** False if a ping has already answered this reader: the result then waits for the next one. */
  #settle(reader: (result: IteratorResult<Uint8Array>) => void, isLast: boolean): boolean {
    if (isLast) clearInterval(this.#timer)
    if (this.#reader !== reader) return false
    this.#reader = undefined
    this.#pending = undefined
    this.#silentTicks = 0
    return true
  }

  #tick(): void {
    this.#silentTicks++
    const reader = this.#reader
    if (this.#silentTicks < 3 || reader === undefined) return
    this.#silentTicks = 0
    this.#reader = undefined
    reader({ done: false, value: this.#options.ping })
  }
}
