/** Reads a server's event stream as chunk objects, and its counts while it runs. */
import { SseDecoder, SseError } from '@privatemode/protocol/api'
import { type EngineCall, EngineError, type EngineUsage, type JsonObject } from '../engine.ts'
import { isFailure, isLastEvent, isNative, isPiece, readNativeUsage } from './native-endpoints.ts'
import { connectionFailure, type OpenRequest } from './server-client.ts'
import { toEngineError } from './server-error.ts'

type StreamCall = Pick<EngineCall, 'endpoint' | 'body' | 'onUsage' | 'signal'>

/** Ends well only after the server's end mark; a connection that closes before it is a failure. */
export async function* readStream(
  request: OpenRequest,
  call: StreamCall,
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
        if (hasEnded) break
        if (data === '[DONE]') {
          hasEnded = !isNative(call.endpoint)
          break
        }
        const chunk = parseChunk(data, call)
        counts.read(chunk)
        yield renameFields(chunk)
        hasEnded = isNative(call.endpoint) && isLastEvent(call.endpoint, chunk)
      }
    }
    if (!hasEnded) throw new EngineError('engine_failed', 'the model server ended in mid-stream')
  } catch (error) {
    if (error instanceof SseError) {
      throw new EngineError('engine_failed', 'the model server sent an event without end')
    }
    // A connection that breaks inside an answer is a failed answer, not a server that is away.
    const failure = connectionFailure(error, request.signal)
    throw failure.code === 'engine_unavailable'
      ? new EngineError('engine_failed', 'the model server broke off in mid-stream')
      : failure
  } finally {
    counts.stop()
    request.close()
    await reader?.cancel().catch(() => {}) // it may be broken already, which is no news here
  }
}

function parseChunk(data: string, { endpoint, body }: StreamCall): JsonObject {
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
    throw toEngineError(typeof code === 'number' ? code : 500, object, Object.keys(body))
  }
  if (isNative(endpoint) && isFailure(object))
    throw new EngineError('engine_failed', 'the model server failed in mid-stream')
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
  readonly #call: StreamCall
  readonly #giveUp = () => this.giveUp()
  #promptTokens: number | undefined
  #cachedTokens = 0
  #isExact = false
  #pieces = 0

  constructor(call: StreamCall) {
    this.#call = call
    // The record of a call is signed the moment it is given up, before a reader learns of it.
    call.signal.addEventListener('abort', this.#giveUp)
  }

  read(chunk: JsonObject): void {
    const { endpoint, onUsage } = this.#call
    if (isNative(endpoint)) {
      if (isPiece(chunk)) this.#pieces++
      const usage = readNativeUsage(endpoint, chunk)
      if (usage === undefined) return
      this.#promptTokens = Math.max(this.#promptTokens ?? 0, usage.promptTokens)
      this.#cachedTokens = Math.max(this.#cachedTokens, usage.cachedTokens)
      this.#isExact ||= usage.isFinal
      onUsage?.(usage)
      return
    }
    if (Array.isArray(chunk.choices) && chunk.choices.length > 0) this.#pieces++
    const usage = readUsage(chunk.usage) ?? readTimings(chunk.timings)
    if (usage === undefined) return
    this.#isExact = true
    onUsage?.(usage)
  }

  /**
   * A server that counts only at the end has told nothing when a stream is given up before. What
   * it did is then estimated: a token for each piece, and one for every four characters asked.
   */
  giveUp(): void {
    if (this.#isExact || this.#pieces === 0) return
    this.#isExact = true
    const { messages, prompt, input } = this.#call.body
    const asked = JSON.stringify(messages ?? prompt ?? input ?? '').length
    this.#call.onUsage?.({
      promptTokens: this.#promptTokens ?? Math.ceil(asked / 4),
      cachedTokens: this.#cachedTokens,
      completionTokens: this.#pieces,
    })
  }

  stop(): void {
    this.giveUp()
    this.#call.signal.removeEventListener('abort', this.#giveUp)
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
