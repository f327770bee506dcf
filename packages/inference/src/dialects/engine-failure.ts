/** Turns an engine failure into an error for the caller, with the wording that clients act on. */
import { ApiError, type Dialect } from '@privatemode/protocol/api'
import { EngineError, type EngineModel, type JsonObject } from '../engine.ts'

export type FailureContext = {
  readonly dialect: Dialect
  readonly model: EngineModel
  readonly body: JsonObject
}

/** An unknown error may quote a prompt in its message, so none of it is exposed. */
export function hideUnknown(thrown: unknown): ApiError {
  return thrown instanceof ApiError ? thrown : new ApiError('internal_error', 'the worker failed')
}

export function toApiError(thrown: unknown, context: FailureContext): ApiError {
  if (!(thrown instanceof EngineError)) return hideUnknown(thrown)
  const options = {
    param: thrown.param ?? undefined,
    retryAfterSeconds: thrown.retryAfterSeconds,
  }
  switch (thrown.code) {
    case 'context_length_exceeded':
      return new ApiError('context_length_exceeded', overflowMessage(thrown, context), options)
    case 'invalid_value':
    case 'unsupported_value':
    case 'model_not_found':
    case 'rate_limit_exceeded':
    case 'overloaded':
    case 'engine_failed':
    case 'engine_unavailable':
      return new ApiError(thrown.code, thrown.message, options)
    case 'aborted':
      return new ApiError('overloaded', thrown.message, options)
  }
}

/** The wordings that agents recover from: any other ends their sessions. */
function overflowMessage(error: EngineError, { dialect, model, body }: FailureContext): string {
  const limit = model.contextLength
  const prompt = error.promptTokens
  const asked = typeof body.max_tokens === 'number' ? body.max_tokens : 0
  switch (dialect) {
    case 'anthropic':
      if (prompt !== undefined && prompt < limit)
        return `input length and \`max_tokens\` exceed context limit: ${prompt} + ${asked} > ${limit}`
      // If the engine did not count, report the smallest number that can be true.
      return `prompt is too long: ${prompt ?? limit + 1} tokens > ${limit} maximum`
    case 'openai': {
      const start = `This model's maximum context length is ${limit} tokens.`
      if (prompt === undefined) return `${start} However, your request is longer.`
      return `${start} However, you requested ${prompt + asked} tokens (${prompt} in the messages, ${asked} in the completion). Please reduce the length of the messages or completion.`
    }
  }
}
