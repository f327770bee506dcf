/** Passes chunks from the generator to one reader, which may be slower or leave. */

/** Its size is bounded by the context, at which every generation ends. */
export class ChunkQueue<T> implements AsyncIterable<T> {
  readonly #onLeave: () => void
  #waiting: T[] = []
  #end: { readonly error: unknown } | 'done' | undefined
  #wake: (() => void) | undefined

  /** `onLeave` is called if the reader stops before the end. */
  constructor(onLeave: () => void) {
    this.#onLeave = onLeave
  }

  push(chunk: T): void {
    this.#waiting.push(chunk)
    this.#wake?.()
  }

  done(): void {
    this.#end ??= 'done'
    this.#wake?.()
  }

  fail(error: unknown): void {
    this.#end ??= { error }
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    try {
      for (;;) {
        const ready = this.#waiting
        this.#waiting = []
        yield* ready
        if (this.#waiting.length > 0) continue
        if (this.#end === 'done') return
        if (this.#end !== undefined) throw this.#end.error
        const { promise, resolve } = Promise.withResolvers<void>()
        this.#wake = resolve
        await promise
      }
    } finally {
      if (this.#end === undefined) this.#onLeave()
    }
  }
}
