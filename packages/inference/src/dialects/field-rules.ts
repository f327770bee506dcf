/** Tables of rules for request fields; a body is checked and patched, never rebuilt. */
import type { JsonObject } from '../engine.ts'
import { checkForm } from './answer-form.ts'
import { isObject, wrongValue } from './json-value.ts'

export type Rule = (value: unknown, param: string) => void
export type Rules = Readonly<Record<string, Rule>>

/** Checks the fields that a table names. `null` means absent and is removed; the rest stays unchanged. */
export function applyRules(body: JsonObject, rules: Rules): void {
  for (const param of Object.keys(rules)) {
    const value = body[param]
    if (value === undefined) continue
    if (value === null) delete body[param]
    else rules[param]?.(value, param)
  }
}

export const numberFrom =
  (min: number, max: number): Rule =>
  (value, param) => {
    if (typeof value !== 'number' || !(value >= min && value <= max))
      throw wrongValue(param, `a number from ${min} to ${max}`, value)
  }

export const numberAbove =
  (min: number, max: number): Rule =>
  (value, param) => {
    if (typeof value !== 'number' || !(value > min && value <= max))
      throw wrongValue(param, `a number above ${min} and up to ${max}`, value)
  }

export const integerFrom =
  (min: number, max: number): Rule =>
  (value, param) => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max)
      throw wrongValue(param, `an integer from ${min} to ${max}`, value)
  }

export const positiveInteger: Rule = (value, param) => {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1)
    throw wrongValue(param, 'an integer of at least 1', value)
}

export const flag: Rule = (value, param) => {
  if (typeof value !== 'boolean') throw wrongValue(param, 'true or false', value)
}

export const text: Rule = (value, param) => {
  if (typeof value !== 'string') throw wrongValue(param, 'a string', value)
}

export const object: Rule = (value, param) => {
  if (!isObject(value)) throw wrongValue(param, 'an object', value)
}

export const oneOf =
  (...allowed: readonly string[]): Rule =>
  (value, param) => {
    if (typeof value !== 'string' || !allowed.includes(value))
      throw wrongValue(param, `one of ${allowed.join(', ')}`, value)
  }

const maxShortText = 1024

/**
 * A string or up to `max` strings; an empty one would stop before the first token. SGLang tokenizes
 * them in the process that serves everyone: a few megabytes stalled it for seconds.
 */
export const stopStrings =
  (max: number): Rule =>
  (value, param) => {
    const list = Array.isArray(value) ? value : [value]
    if (!list.every(isShortText) || list.length > max)
      throw wrongValue(param, `a string or up to ${max} strings ${shortTextLength}`, value)
  }

export const isShortText = (value: unknown): boolean =>
  typeof value === 'string' && value !== '' && value.length <= maxShortText
export const shortTextLength = `of 1 to ${maxShortText} characters`

/** The GPU part of vLLM has fixed room for these lists, and a longer one is an error of its engine. */
const tokenIds =
  (max: number): Rule =>
  (value, param) => {
    const isValid = Array.isArray(value) && value.length <= max && value.every(isTokenId)
    if (!isValid) throw wrongValue(param, `a list of up to ${max} token ids`, value)
  }

export function isTokenId(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31
}

const maxBadWords = 128

const badWords: Rule = (value, param) => {
  if (!Array.isArray(value) || !value.every(isShortText) || value.length > maxBadWords)
    throw wrongValue(param, `a list of up to ${maxBadWords} strings ${shortTextLength}`, value)
}

const maxBiases = 1024

export const logitBias: Rule = (value, param) => {
  if (!isObject(value) || Object.keys(value).length > maxBiases)
    throw wrongValue(param, `an object with up to ${maxBiases} token ids`, value)
  for (const [token, bias] of Object.entries(value)) {
    if (!/^\d{1,9}$/.test(token)) throw wrongValue(param, 'an object with token ids as keys', value)
    if (typeof bias !== 'number' || !(bias >= -100 && bias <= 100))
      throw wrongValue(`${param}.${token}`, 'a number from -100 to 100', bias)
  }
}

const int64 = 2 ** 63

/**
 * Sampling fields of every generating endpoint: messages and responses are checked after their
 * translation to chat. A field not listed here passes unchecked.
 */
export const samplingRules = {
  temperature: numberFrom(0, 2),
  top_p: numberAbove(0, 1),
  top_k: integerFrom(-1, 2 ** 31 - 1),
  min_p: numberFrom(0, 1),
  frequency_penalty: numberFrom(-2, 2),
  presence_penalty: numberFrom(-2, 2),
  repetition_penalty: numberAbove(0, 100),
  n: integerFrom(1, 128),
  stop: stopStrings(64),
  seed: integerFrom(-int64, int64),
  stop_token_ids: tokenIds(100),
  allowed_token_ids: tokenIds(1024),
  bad_words: badWords,
  logit_bias: logitBias,
  user: text,
  prompt_logprobs: integerFrom(0, 20),
  stream: flag,
  stream_options: object,
  response_format: checkForm,
  // The same under the names of vLLM, older vLLM, SGLang and llama-server.
  structured_outputs: checkForm,
  guided_json: checkForm,
  guided_regex: checkForm,
  guided_choice: checkForm,
  json_schema: checkForm,
  regex: checkForm,
} satisfies Rules

/** Only for callers of the OpenAI dialect; the others allow more stop sequences. */
export const openAiRules: Rules = { stop: stopStrings(4) }
