/** Reads a server's event stream as chunk objects, and its counts while it runs. */
import { SseDecoder, SseError } from '@privatemode/protocol/api'
import { type EngineCall, EngineError, type EngineUsage, type JsonObject } from '../engine.ts'
import { connectionFailure, type OpenRequest } from './server-client.ts'
import { toEngineError } from './server-error.ts'

/** Ends well only after the server's end mark; a connection that closes before it is a failure. */
export async function* readStream(
  request: OpenRequest,
  call: Pick<EngineCall, 'body' | 'onUsage'>,
): AsyncGenerator<JsonObject> {
  const decoder = new SseDecoder()
  const counts = new StreamCounts(call)
  let hasEnded = false
  const reader = request.response.body?.getReader()
  try {
    while (reader !== undefined && !hasEnded) {
      const { done, value } = await reader.read()
      if (done) break
      request.heard()
      for (const { data } of decoder.push(value)) {
        hasEnded ||= data === '[DONE]'
        if (hasEnded) break
        const chunk = parseChunk(data, call.body)
        counts.read(chunk)
        yield renameFields(chunk)
      }
    }
    if (!hasEnded) throw new EngineError('engine_failed', 'the model server ended in mid-stream')
  } catch (error) {
    counts.giveUp()
    if (error instanceof SseError) {
      throw new EngineError('engine_failed', 'the model server sent an event without end')
    }
    // A connection that breaks inside an answer is a failed answer, not a server that is away.
    const failure = connectionFailure(error, request.signal)
    throw failure.code === 'engine_unavailable'
      ? new EngineError('engine_failed', 'the model server broke off in mid-stream')
      : failure
  } finally {
    counts.giveUp()
    request.close()
    await reader?.cancel().catch(() => {}) // it may be broken already, which is no news here
  }
}

function parseChunk(data: string, asked: JsonObject): JsonObject {
  let chunk: unknown
  try {
    chunk = JSON.parse(data)
  } catch {
    throw new EngineError('engine_failed', 'the model server sent an event that is not JSON')
  }
  if (typeof chunk !== 'object' || chunk === null) {
    throw new EngineError('engine_failed', 'the model server sent an event that is no object')
  }
  const object = chunk as JsonObject
  if (object.error !== undefined && object.error !== null) {
    const { code } = object.error as JsonObject
    throw toEngineError(typeof code === 'number' ? code : 500, object, Object.keys(asked))
  }
  return object
}

/** SGLang's name for the stop string that was met. */
export function renameFields(answer: JsonObject): JsonObject {
  if (!Array.isArray(answer.choices)) return answer
  for (const choice of answer.choices as JsonObject[]) {
    if (choice?.matched_stop === undefined) continue
    choice.stop_reason ??= choice.matched_stop
    delete choice.matched_stop
  }
  return answer
}

/** Keeps the counts true while a stream runs, so that they are so also when it is given up. */
class StreamCounts {
  readonly #call: Pick<EngineCall, 'body' | 'onUsage'>
  #isExact = false
  #chunks = 0

  constructor(call: Pick<EngineCall, 'body' | 'onUsage'>) {
    this.#call = call
  }

  read(chunk: JsonObject): void {
    if (Array.isArray(chunk.choices) && chunk.choices.length > 0) this.#chunks++
    const usage = readUsage(chunk.usage) ?? readTimings(chunk.timings)
    if (usage === undefined) return
    this.#isExact = true
    this.#call.onUsage?.(usage)
  }

  /**
   * A server that counts only at the end has told nothing when a stream is given up before. What
   * it did is then estimated: a token for each chunk, and one for every four characters asked.
   */
  giveUp(): void {
    if (this.#isExact || this.#chunks === 0) return
    this.#isExact = true
    const { messages, prompt } = this.#call.body
    const asked = JSON.stringify(messages ?? prompt ?? '').length
    this.#call.onUsage?.({
      promptTokens: Math.ceil(asked / 4),
      cachedTokens: 0,
      completionTokens: this.#chunks,
    })
  }
}

export function readUsage(value: unknown): EngineUsage | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { prompt_tokens, completion_tokens, prompt_tokens_details } = value as JsonObject
  if (typeof prompt_tokens !== 'number') return undefined
  const cached = (prompt_tokens_details as JsonObject | null | undefined)?.cached_tokens
  return {
    promptTokens: prompt_tokens,
    cachedTokens: typeof cached === 'number' ? cached : 0,
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
