/** Counts what a call costs, while it runs. */
import type { EngineUsage, JsonObject } from '../../engine.ts'

export class UsageCount {
  readonly #onUsage: ((usage: EngineUsage) => void) | undefined
  #promptTokens = 0
  #cachedTokens = 0
  #completionTokens = 0
  reasoningTokens = 0

  constructor(onUsage: ((usage: EngineUsage) => void) | undefined) {
    this.#onUsage = onUsage
  }

  addPrompt(promptTokens: number, cachedTokens: number): void {
    this.#promptTokens += promptTokens
    this.#cachedTokens += cachedTokens
    this.#report()
  }

  addToken(): void {
    this.#completionTokens++
    this.#report()
  }

  /** The usage object of the answer. */
  format(): JsonObject {
    return {
      prompt_tokens: this.#promptTokens,
      completion_tokens: this.#completionTokens,
      total_tokens: this.#promptTokens + this.#completionTokens,
      prompt_tokens_details: { cached_tokens: this.#cachedTokens },
      completion_tokens_details: { reasoning_tokens: this.reasoningTokens },
    }
  }

  #report(): void {
    this.#onUsage?.({
      promptTokens: this.#promptTokens,
      cachedTokens: this.#cachedTokens,
      completionTokens: this.#completionTokens,
    })
  }
}
