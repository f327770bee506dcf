/** Checks an embeddings request. */
import type { JsonObject } from '../../engine.ts'
import { applyRules, oneOf, positiveInteger, type Rules, text } from '../field-rules.ts'
import { checkInputs } from './check-completions.ts'

const embeddingRules: Rules = {
  dimensions: positiveInteger,
  encoding_format: oneOf('float', 'base64'),
  user: text,
}

/** Returns the number of vectors that the answer must have. */
export function checkEmbeddings(body: JsonObject): number {
  applyRules(body, embeddingRules)
  return checkInputs(body.input, 'input')
}
