/** Keeps the counts of a running stream accurate, so that they are correct even if it is aborted. */
import type { EngineCall, EngineUsage, JsonObject } from '../engine.ts'
import { isNative, optionalCount, pieceText, readNativeUsage } from './native-endpoints.ts'

export type StreamCall = Pick<
  EngineCall,
  'endpoint' | 'body' | 'asChat' | 'onUsage' | 'onSettling' | 'signal'
>

/** What a server has reported about a native stream, which it counts only at its end. */
export type OpenCounts = {
  readonly promptTokens: number | undefined
  readonly cachedTokens: number | undefined
  readonly pieces: number
  /** Everything that was generated, as far as it arrived. */
  readonly text: string
}

export type Settle = (open: OpenCounts) => Promise<void>

export class StreamCounts {
  readonly #call: StreamCall
  readonly #choices: ChoiceCounts | undefined
  readonly #settle: Settle | undefined
  #promptTokens: number | undefined
  #cachedTokens: number | undefined
  #isExact = false
  #pieces = 0
  #text = ''
  #lastChoice: unknown

  /**
   * `isPerChoice` if counts inside a stream belong to the choice they come with. `settle` counts
   * the work of an aborted native stream.
   */
  constructor(call: StreamCall, isPerChoice: boolean, settle?: Settle) {
    this.#call = call
    this.#settle = settle
    this.#choices = isPerChoice ? new ChoiceCounts(call.body.n) : undefined
  }

  /** `events` if a chunk was joined from several: their counts only grow, so the last ones say all. */
  read(chunk: JsonObject, events = 1): void {
    const { endpoint, onUsage } = this.#call
    if (isNative(endpoint)) {
      const piece = pieceText(chunk)
      if (piece !== undefined) {
        this.#pieces++
        this.#text += piece
      }
      const usage = readNativeUsage(endpoint, chunk)
      if (usage === undefined) return
      this.#promptTokens = Math.max(this.#promptTokens ?? 0, usage.promptTokens)
      this.#cachedTokens = usage.cachedTokens ?? this.#cachedTokens
      this.#isExact ||= usage.isFinal
      onUsage?.(usage)
      return
    }
    const choices: JsonObject[] = Array.isArray(chunk.choices) ? chunk.choices : []
    if (choices.length > 0) this.#pieces += events
    this.#lastChoice = choices[0]?.index ?? this.#lastChoice
    const usage = readUsage(chunk.usage) ?? readTimings(chunk.timings)
    if (usage === undefined) return
    this.#isExact = true
    // llama-server ends each choice with its counts, in an event without a choice.
    const isOfOne = choices.length === 1 || (choices.length === 0 && chunk.timings !== undefined)
    const isTotal = this.#choices === undefined || !isOfOne
    onUsage?.(isTotal ? usage : this.#choices.add(this.#lastChoice, usage))
  }

  /** Whether nothing of an answer has arrived. */
  get isEmpty(): boolean {
    return this.#pieces === 0
  }

  /**
   * A server that counts only at the end has reported nothing if a stream ends before. Its
   * tokenizer is asked if it has one; otherwise a piece is a token, and so are four characters of
   * the request.
   */
  async settle(): Promise<void> {
    if (this.#isExact) return
    if (this.#settle === undefined || !isNative(this.#call.endpoint)) {
      this.estimate()
      return
    }
    const [promptTokens, cachedTokens] = [this.#promptTokens, this.#cachedTokens]
    await this.#settle({ promptTokens, cachedTokens, pieces: this.#pieces, text: this.#text })
  }

  /** What is known if no one can be asked. */
  estimate(): void {
    if (this.#isExact || this.#pieces === 0) return
    this.#call.onUsage?.({
      promptTokens: this.#promptTokens ?? estimatePrompt(this.#call),
      cachedTokens: this.#cachedTokens,
      completionTokens: Math.max(this.#pieces, this.#text === '' ? 0 : estimateTokens(this.#text)),
      countedBy: 'estimate',
    })
  }
}

const nothing: EngineUsage = { promptTokens: 0, cachedTokens: undefined, completionTokens: 0 }

/** Adds up what servers count for each choice separately; a prompt shared by several choices counts once. */
class ChoiceCounts {
  readonly #perPrompt: number
  readonly #choices = new Map<number, number>()
  readonly #prompts = new Map<number, EngineUsage>()
  #total = nothing

  constructor(n: unknown) {
    this.#perPrompt = typeof n === 'number' && n > 1 ? n : 1
  }

  add(choice: unknown, usage: EngineUsage): EngineUsage {
    const index = typeof choice === 'number' ? choice : 0
    const place = Math.floor(index / this.#perPrompt)
    const prompt = this.#prompts.get(place) ?? nothing
    const { promptTokens, cachedTokens, completionTokens } = this.#total
    this.#total = {
      promptTokens: promptTokens - prompt.promptTokens + usage.promptTokens,
      cachedTokens:
        usage.cachedTokens === undefined
          ? cachedTokens
          : (cachedTokens ?? 0) - (prompt.cachedTokens ?? 0) + usage.cachedTokens,
      completionTokens: completionTokens - (this.#choices.get(index) ?? 0) + usage.completionTokens,
    }
    this.#prompts.set(place, usage)
    this.#choices.set(index, usage.completionTokens)
    return this.#total
  }
}

/** Everything a template would render: the conversation, and the tools before it. */
export function estimatePrompt({ body, asChat }: Pick<EngineCall, 'body' | 'asChat'>): number {
  const { messages, prompt, input, tools } = asChat ?? body
  return (
    estimateTokens(messages ?? prompt ?? input) + (tools === undefined ? 0 : estimateTokens(tools))
  )
}

/** If no one counts: one token per four characters. */
export function estimateTokens(asked: unknown): number {
  return Math.ceil(JSON.stringify(asked ?? '').length / 4)
}

export function readUsage(value: unknown): EngineUsage | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { prompt_tokens, completion_tokens, prompt_tokens_details } = value as JsonObject
  if (typeof prompt_tokens !== 'number') return undefined
  const cached = (prompt_tokens_details as JsonObject | null | undefined)?.cached_tokens
  return {
    promptTokens: prompt_tokens,
    cachedTokens: optionalCount(cached),
    completionTokens: typeof completion_tokens === 'number' ? completion_tokens : 0,
  }
}

/** llama-server's counts in a running stream. */
function readTimings(value: unknown): EngineUsage | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { cache_n = 0, prompt_n, predicted_n } = value as JsonObject
  if (typeof prompt_n !== 'number' || typeof predicted_n !== 'number') return undefined
  const cachedTokens = typeof cache_n === 'number' ? cache_n : 0
  return { promptTokens: prompt_n + cachedTokens, cachedTokens, completionTokens: predicted_n }
}
