/** Keeps the token counts of one request, whichever way the engine tells them. */
import type { EngineUsage, JsonObject } from '../engine.ts'
import { isObject } from './json-value.ts'

export type Usage = {
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly completionTokens: number
}

export class UsageMeter {
  #promptTokens = 0
  #cachedTokens = 0
  #completionTokens = 0

  /** Counts of one request only grow, so a late or smaller report changes nothing. */
  report(usage: EngineUsage): void {
    this.#promptTokens = Math.max(this.#promptTokens, count(usage.promptTokens))
    this.#cachedTokens = Math.max(this.#cachedTokens, count(usage.cachedTokens))
    this.#completionTokens = Math.max(this.#completionTokens, count(usage.completionTokens))
  }

  /** Reads a wire `usage` object of an engine's answer or chunk. */
  readWire(usage: unknown): void {
    if (!isObject(usage)) return
    const details = usage.prompt_tokens_details
    this.report({
      promptTokens: count(usage.prompt_tokens),
      cachedTokens: isObject(details) ? count(details.cached_tokens) : 0,
      completionTokens: count(usage.completion_tokens),
    })
  }

  read(): Usage {
    return {
      promptTokens: this.#promptTokens,
      cachedTokens: Math.min(this.#cachedTokens, this.#promptTokens),
      completionTokens: this.#completionTokens,
    }
  }
}

/** The wire form for OpenAI clients; details an engine knows beyond the counts are kept. */
export function formatUsage(usage: Usage, wire: unknown): JsonObject {
  const given = isObject(wire) ? wire : {}
  const promptDetails = isObject(given.prompt_tokens_details) ? given.prompt_tokens_details : {}
  return {
    ...given,
    prompt_tokens: usage.promptTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    completion_tokens: usage.completionTokens,
    prompt_tokens_details: { ...promptDetails, cached_tokens: usage.cachedTokens },
  }
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0
}
