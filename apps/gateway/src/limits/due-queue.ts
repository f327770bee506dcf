/** Items that become due a fixed time after they were added, so they are always in order. */
export class DueQueue<T> {
  readonly #clock: () => number
  readonly #delayMs: number
  readonly #items: { readonly item: T; readonly dueMs: number }[] = []

  /** `clock` gives monotonic milliseconds. */
  constructor(clock: () => number, delayMs: number) {
    this.#clock = clock
    this.#delayMs = delayMs
  }

  add(item: T): void {
    this.#items.push({ item, dueMs: this.#clock() + this.#delayMs })
  }

  takeDue(): T[] {
    const nowMs = this.#clock()
    const firstLater = this.#items.findIndex(({ dueMs }) => dueMs > nowMs)
    const due = this.#items.splice(0, firstLater < 0 ? this.#items.length : firstLater)
    return due.map(({ item }) => item)
  }
}
