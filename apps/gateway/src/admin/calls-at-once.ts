/** Bounds a member's concurrent admin API calls: the embedded database executes one query at a time. */
import { ApiError } from '@privatemode/protocol/api'

export class CallsAtOnce {
  readonly #most: number
  readonly #running = new Map<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  /**
   * Runs the call; throws if the caller already has the maximum number running. An answer that is
   * streamed runs until its stream ends.
   */
  async run<T>(caller: string, call: () => Promise<T>): Promise<T | Response> {
    const running = this.#running.get(caller) ?? 0
    if (running >= this.#most) {
      const message = `no more than ${this.#most} calls may run at once`
      throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: 1 })
    }
    this.#running.set(caller, running + 1)
    try {
      const answer = await call()
      if (answer instanceof Response && answer.body !== null) {
        return new Response(
          endingWith(answer.body, () => this.#leave(caller)),
          answer,
        )
      }
      this.#leave(caller)
      return answer
    } catch (error) {
      this.#leave(caller)
      throw error
    }
  }

  #leave(caller: string): void {
    const left = (this.#running.get(caller) ?? 1) - 1
    if (left > 0) this.#running.set(caller, left)
    else this.#running.delete(caller)
  }
}

/** The same stream; `ended` is called once, when it is read to its end, fails or is cancelled. */
function endingWith(
  body: ReadableStream<Uint8Array>,
  ended: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let over = false
  const end = () => {
    if (!over) ended()
    over = true
  }
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        end()
        controller.close()
      } catch (error) {
        end()
        throw error
      }
    },
    async cancel(reason) {
      try {
        await reader.cancel(reason)
      } finally {
        end()
      }
    },
  })
}
