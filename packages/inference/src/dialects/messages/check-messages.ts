/** Checks the fields of a messages request that have no counterpart in chat. */
import type { JsonObject } from '../../engine.ts'
import {
  applyRules,
  flag,
  isShortText,
  object,
  type Rule,
  type Rules,
  samplingRules,
  shortTextLength,
  text,
} from '../field-rules.ts'
import { requireList, wrongValue } from '../json-value.ts'

const stopSequences: Rule = (value, param) => {
  const list = requireList(value, param)
  if (!list.every(isShortText) || list.length > 64)
    throw wrongValue(param, `a list of up to 64 strings ${shortTextLength}`, value)
}

const messageRules: Rules = {
  temperature: samplingRules.temperature,
  top_p: samplingRules.top_p,
  top_k: samplingRules.top_k,
  stop_sequences: stopSequences,
  thinking: object,
  output_config: object,
  output_format: object,
  tool_choice: object,
  service_tier: text,
  stream: flag,
  metadata: object,
}

export function checkMessagesFields(body: JsonObject): void {
  applyRules(body, messageRules)
}

/** Required by the interface, except for `count_tokens`. */
export function checkMaxTokens(body: JsonObject): void {
  const value = body.max_tokens
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1)
    throw wrongValue('max_tokens', 'an integer of at least 1', value)
}
