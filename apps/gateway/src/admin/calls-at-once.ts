/** Bounds a member's concurrent admin API calls: the embedded database executes one query at a time. */
import { ApiError } from '@privatemode/protocol/api'

export class CallsAtOnce {
  readonly #most: number
  readonly #running = new Map<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  /** Runs the call; throws if the caller already has the maximum number running. */
  async run<T>(caller: string, call: () => Promise<T>): Promise<T> {
    const running = this.#running.get(caller) ?? 0
    if (running >= this.#most) {
      const message = `no more than ${this.#most} calls may run at once`
      throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: 1 })
    }
    this.#running.set(caller, running + 1)
    try {
      return await call()
    } finally {
      const left = (this.#running.get(caller) ?? 1) - 1
      if (left > 0) this.#running.set(caller, left)
      else this.#running.delete(caller)
    }
  }
}
