/** Native endpoints of other dialects: where they are, how they end, count and fail. */
import { EngineError, type EngineUsage, type JsonObject, type NativeEndpoint } from '../engine.ts'

export const nativePaths: Readonly<Record<NativeEndpoint, string>> = {
  messages: '/v1/messages',
  responses: '/v1/responses',
}

export const countPath = '/v1/messages/count_tokens'

export function isNative(endpoint: string): endpoint is NativeEndpoint {
  return endpoint === 'messages' || endpoint === 'responses'
}

/** Whether an event is the proper end of a stream: one that stops without it was truncated. */
export function isLastEvent(endpoint: NativeEndpoint, { type }: JsonObject): boolean {
  switch (endpoint) {
    case 'messages':
      return type === 'message_stop'
    case 'responses':
      return type === 'response.completed' || type === 'response.incomplete'
  }
}

/** SGLang ends the stream of a response that its engine refused as if it were complete. */
export function isEmptyEnd({ type, response }: JsonObject): boolean {
  const output = asObject(response)?.output
  return type === 'response.completed' && Array.isArray(output) && output.length === 0
}

/** Whether an event reports a failure of the server; its message may quote the prompt. */
export function isFailure({ type }: JsonObject): boolean {
  return type === 'error' || type === 'response.failed'
}

/** The text of an event with a piece of the answer, which is one token or a few. */
export function pieceText({ type, delta }: JsonObject): string | undefined {
  if (typeof type !== 'string' || type === 'message_delta' || !/_delta$|\.delta$/.test(type))
    return undefined
  if (typeof delta === 'string') return delta
  const { text, thinking, partial_json } = asObject(delta) ?? {}
  return [text, thinking, partial_json].find((piece) => typeof piece === 'string') ?? ''
}

/** A complete answer of a native endpoint, or a failure: a status of 200 alone proves nothing. */
export function requireWhole(endpoint: NativeEndpoint, answer: JsonObject): JsonObject {
  const isWhole =
    endpoint === 'messages'
      ? answer.type === 'message' && typeof answer.stop_reason === 'string'
      : answer.object === 'response' &&
        (answer.status === 'completed' || answer.status === 'incomplete')
  if (isWhole) return answer
  throw new EngineError('engine_failed', 'the model server did not finish its answer')
}

/** The counts in an answer or an event; `isFinal` if nothing is generated after them. */
export function readNativeUsage(
  endpoint: NativeEndpoint,
  object: JsonObject,
): (EngineUsage & { readonly isFinal: boolean }) | undefined {
  switch (endpoint) {
    case 'messages': {
      const message = asObject(object.message)
      const usage = asObject(object.usage) ?? asObject(message?.usage)
      return usage && { ...messageCounts(usage), isFinal: object.type !== 'message_start' }
    }
    case 'responses': {
      const usage = asObject(object.usage) ?? asObject(asObject(object.response)?.usage)
      return usage && { ...responseCounts(usage), isFinal: true }
    }
  }
}

/**
 * Here `input_tokens` excludes tokens read from or written to a cache; the prompt is the sum of all
 * three.
 */
function messageCounts(usage: JsonObject): EngineUsage {
  const cachedTokens = optionalCount(usage.cache_read_input_tokens)
  const created = count(usage.cache_creation_input_tokens)
  return {
    promptTokens: count(usage.input_tokens) + (cachedTokens ?? 0) + created,
    cachedTokens,
    completionTokens: count(usage.output_tokens),
  }
}

function responseCounts(usage: JsonObject): EngineUsage {
  return {
    promptTokens: count(usage.input_tokens),
    cachedTokens: optionalCount(asObject(usage.input_tokens_details)?.cached_tokens),
    completionTokens: count(usage.output_tokens),
  }
}

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null ? (value as JsonObject) : undefined
}

/** A count that a server may omit; zero only if it says so. */
export function optionalCount(value: unknown): number | undefined {
  return typeof value === 'number' ? count(value) : undefined
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0
}
