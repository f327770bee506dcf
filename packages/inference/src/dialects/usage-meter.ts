/** Tracks the token counts of one request, however the engine reports them. */
import type { CountedBy, EngineUsage, JsonObject } from '../engine.ts'
import { isObject } from './json-value.ts'

export type Usage = {
  readonly promptTokens: number
  readonly cachedTokens: number
  /**
   * False if the engine reports nothing about its cache: callers are then not told that nothing was
   * cached.
   */
  readonly isCacheReported?: boolean | undefined
  readonly completionTokens: number
  /** Absent if the engine counted itself. */
  readonly countedBy?: CountedBy | undefined
}

export class UsageMeter {
  #promptTokens = 0
  #cachedTokens: number | undefined
  #completionTokens = 0
  #countedBy: CountedBy | undefined
  #settling: Promise<void> | undefined

  /** Counts of a request only grow, so a late or smaller report changes nothing. */
  report(usage: EngineUsage): void {
    this.#promptTokens = Math.max(this.#promptTokens, count(usage.promptTokens))
    if (usage.cachedTokens !== undefined)
      this.#cachedTokens = Math.max(this.#cachedTokens ?? 0, count(usage.cachedTokens))
    this.#completionTokens = Math.max(this.#completionTokens, count(usage.completionTokens))
    this.#countedBy = usage.countedBy ?? this.#countedBy
  }

  /** Counts of an aborted request arrive later: nothing may be signed until then. */
  settleAfter(counts: Promise<void>): void {
    const before = this.#settling ?? Promise.resolve()
    const settling = before
      .then(() => counts)
      .finally(() => {
        if (this.#settling === settling) this.#settling = undefined
      })
    this.#settling = settling
  }

  /** Undefined if the counts are final. */
  get settling(): Promise<void> | undefined {
    return this.#settling
  }

  /** Reads the wire `usage` object of an engine's answer or chunk. */
  readWire(usage: unknown): void {
    if (!isObject(usage)) return
    const details = usage.prompt_tokens_details
    const cached = isObject(details) ? details.cached_tokens : undefined
    this.report({
      promptTokens: count(usage.prompt_tokens),
      cachedTokens: typeof cached === 'number' ? count(cached) : undefined,
      completionTokens: count(usage.completion_tokens),
    })
  }

  read(): Usage {
    return {
      promptTokens: this.#promptTokens,
      cachedTokens: Math.min(this.#cachedTokens ?? 0, this.#promptTokens),
      isCacheReported: this.#cachedTokens !== undefined,
      completionTokens: this.#completionTokens,
      countedBy: this.#countedBy,
    }
  }
}

/** The wire form for OpenAI clients; details beyond the counts are preserved. */
export function formatUsage(usage: Usage, wire: unknown): JsonObject {
  const given = isObject(wire) ? wire : {}
  const { prompt_tokens_details: details, ...rest } = given
  const known = {
    ...(isObject(details) ? details : {}),
    ...(usage.isCacheReported ? { cached_tokens: usage.cachedTokens } : {}),
  }
  return {
    ...rest,
    prompt_tokens: usage.promptTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    completion_tokens: usage.completionTokens,
    ...(Object.keys(known).length > 0 ? { prompt_tokens_details: known } : {}),
  }
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0
}
