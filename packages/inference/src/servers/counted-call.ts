/** Ensures that the prompt of a call is counted even if the server has reported nothing about it. */
import type { EngineCall, EngineError, EngineUsage } from '../engine.ts'
import { connectionFailure } from './server-client.ts'

/** Prompt tokens of a call; an estimate, or a one-token answer, only for an aborted one. */
export type AskForPrompt = (call: EngineCall, isAborted: boolean) => Promise<number | undefined>

export class CountedCall {
  /** The call to make: its counts pass through here. */
  readonly call: EngineCall
  readonly #ask: AskForPrompt
  #timer: ReturnType<typeof setTimeout> | undefined
  #isCounted = false
  #isAsked = false

  constructor(given: EngineCall, ask: AskForPrompt) {
    const onUsage = (usage: EngineUsage) => {
      if (!this.#isCounted) this.end()
      this.#isCounted = true
      given.onUsage?.(usage)
    }
    this.call = { ...given, onUsage }
    this.#ask = ask
  }

  /**
   * The record of a stream is signed the moment it is aborted, when it is too late to ask. So a
   * stream that waits long for its first token is counted meanwhile.
   */
  countAfter(waitingMs: number): void {
    this.#timer = setTimeout(() => void this.#count(false), waitingMs)
  }

  /** Converts a failure. The prompt of an aborted call was processed all the same. */
  async failed(error: unknown): Promise<EngineError> {
    this.end()
    const failure = connectionFailure(error, this.call.signal)
    if (failure.code === 'aborted' && !this.#isCounted && !this.#isAsked) {
      this.#isAsked = true
      await this.#count(true)
    }
    return failure
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  async #count(isAborted: boolean): Promise<void> {
    try {
      const promptTokens = await this.#ask(this.call, isAborted)
      if (promptTokens === undefined) return
      this.call.onUsage?.({ promptTokens, cachedTokens: undefined, completionTokens: 0 })
    } catch {
      // The server may be gone as well, and then nothing can count.
    }
  }
}
