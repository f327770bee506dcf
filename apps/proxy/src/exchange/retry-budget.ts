/** Decides whether a call that failed is made again, and after which pause. */
import type { ApiError } from '@privatemode/protocol/api'
import { isRetrySafe } from '@privatemode/sdk'

const maxAttempts = 4
const budgetMs = 15_000
const firstPauseMs = 100

export class RetryBudget {
  readonly #untilMs = performance.now() + budgetMs
  #attempts = 0

  /** An attempt begins. */
  begin(): void {
    this.#attempts++
  }

  /** Milliseconds to wait before the next attempt; `undefined` where none can help. */
  pauseAfter(error: ApiError): number | undefined {
    if (this.#attempts >= maxAttempts || performance.now() >= this.#untilMs) return undefined
    if (isRetrySafe(error)) return 0
    // A backend that is being restarted is there again in a moment.
    const mayReturn = error.code === 'gateway_unreachable' && error.retryable
    return mayReturn ? firstPauseMs * 2 ** (this.#attempts - 1) : undefined
  }
}
