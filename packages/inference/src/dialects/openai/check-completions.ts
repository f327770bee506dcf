/** Checks a legacy completion request. */
import type { JsonObject } from '../../engine.ts'
import {
  applyRules,
  flag,
  integerFrom,
  isTokenId,
  openAiRules,
  type Rules,
  samplingRules,
} from '../field-rules.ts'
import { unsupported, wrongValue } from '../json-value.ts'
import { checkStreaming } from './check-chat.ts'
import { checkResponseFormat } from './check-tools.ts'

const defaultMaxTokens = 16
export const maxInputs = 2048
const maxChoices = 2048

const completionRules: Rules = {
  ...samplingRules,
  ...openAiRules,
  max_tokens: integerFrom(0, Number.MAX_SAFE_INTEGER),
  logprobs: integerFrom(0, 20),
  echo: flag,
  best_of: integerFrom(1, 128),
}

export function checkCompletion(body: JsonObject, stream: boolean): void {
  applyRules(body, completionRules)
  const prompts = checkInputs(body.prompt, 'prompt')
  const maxN = Math.floor(maxChoices / prompts)
  if (typeof body.n === 'number' && body.n > maxN)
    throw wrongValue('n', `an integer of at most ${maxN} with ${prompts} prompts`, body.n)
  checkResponseFormat(body)
  if (body.suffix === null || body.suffix === '') delete body.suffix
  if (body.suffix !== undefined) throw unsupported('suffix', "'suffix' is not supported")
  if (body.best_of !== undefined && body.best_of !== (body.n ?? 1))
    throw unsupported('best_of', "'best_of' is not supported beyond 'n'")
  delete body.best_of
  checkStreaming(body, stream)
  // Scores the prompt only: valid if the caller wants the prompt back.
  if (body.max_tokens === 0 && body.echo !== true)
    throw wrongValue('max_tokens', "an integer of at least 1, or 0 with 'echo'", 0)
  body.max_tokens ??= defaultMaxTokens
}

/** A string, strings, token ids, or lists of token ids; returns the number of inputs. */
export function checkInputs(value: unknown, param: string): number {
  if (typeof value === 'string' && value !== '') return 1
  const expected = 'a string, a list of strings, token ids or a list of those, none of them empty'
  if (!Array.isArray(value) || value.length === 0) throw wrongValue(param, expected, value)
  if (value.every(isTokenId)) return 1
  if (value.length > maxInputs)
    throw wrongValue(param, `a list of at most ${maxInputs} items`, value)
  const isTexts = value.every((item) => typeof item === 'string' && item !== '')
  const isTokenLists = () =>
    value.every((item) => Array.isArray(item) && item.length > 0 && item.every(isTokenId))
  if (isTexts || isTokenLists()) return value.length
  const wrong = value.findIndex((item) => typeof item !== 'string' || item === '')
  throw wrongValue(`${param}.${wrong}`, expected, value[wrong])
}
