/** Checks a chat request and patches it into the one form that engines receive. */
import { ApiError } from '@privatemode/protocol/api'
import type { EngineModel, JsonObject } from '../../engine.ts'
import {
  applyRules,
  flag,
  integerFrom,
  positiveInteger,
  type Rules,
  samplingRules,
  text,
} from '../field-rules.ts'
import { isObject, unsupported, wrongValue } from '../json-value.ts'
import { checkMessages } from './check-content.ts'
import { checkResponseFormat, checkTools } from './check-tools.ts'

const chatRules: Rules = {
  ...samplingRules,
  max_tokens: positiveInteger,
  max_completion_tokens: positiveInteger,
  logprobs: flag,
  top_logprobs: integerFrom(0, 20),
  parallel_tool_calls: flag,
  reasoning_effort: text,
}

export function checkChat(body: JsonObject, model: EngineModel, stream: boolean): void {
  applyRules(body, chatRules)
  checkMessages(body, model)
  checkTools(body)
  checkResponseFormat(body)
  checkModalities(body)
  if (body.top_logprobs !== undefined && body.logprobs !== true) {
    const message = "'top_logprobs' needs 'logprobs' to be true"
    throw new ApiError('invalid_value', message, { param: 'top_logprobs' })
  }
  checkStreaming(body, stream)
  shareTokenLimit(body)
}

/** What a stream cannot carry, and options that only a stream has. */
export function checkStreaming(body: JsonObject, stream: boolean): void {
  if (stream && body.prompt_logprobs !== undefined)
    throw unsupported('prompt_logprobs', "'prompt_logprobs' is not available in a stream")
  if (!stream && body.stream_options !== undefined) {
    const message = "'stream_options' is only allowed when 'stream' is true"
    throw new ApiError('invalid_value', message, { param: 'stream_options' })
  }
}

/** Whether the caller wants the usage chunk at the end, and counts in every chunk. */
export function requestedUsage(body: JsonObject): { atEnd: boolean; always: boolean } {
  const options = isObject(body.stream_options) ? body.stream_options : {}
  const atEnd = options.include_usage === true
  return { atEnd, always: atEnd && options.continuous_usage_stats === true }
}

function checkModalities(body: JsonObject): void {
  const { modalities, audio } = body
  if (audio !== undefined && audio !== null) throw unsupported('audio', 'audio is not supported')
  if (modalities === undefined || modalities === null) return
  const isText = Array.isArray(modalities) && modalities.length === 1 && modalities[0] === 'text'
  if (!isText) throw wrongValue('modalities', "['text']", modalities)
}

/** The newer name takes precedence; engines that know only one of them get the same limit. */
function shareTokenLimit(body: JsonObject): void {
  const limit = body.max_completion_tokens ?? body.max_tokens
  if (limit === undefined) return
  body.max_completion_tokens = limit
  body.max_tokens = limit
}
