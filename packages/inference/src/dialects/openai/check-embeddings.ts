/** Checks an embeddings request. */
import type { JsonObject } from '../../engine.ts'
import { applyRules, oneOf, positiveInteger, type Rules, text } from '../field-rules.ts'
import { unsupported } from '../json-value.ts'
import { checkInputs } from './check-completions.ts'

const embeddingRules: Rules = {
  dimensions: positiveInteger,
  // vLLM would embed them instead of the input, and fetch what they refer to.
  messages: (_, param) => {
    throw unsupported(param, "'messages' cannot be embedded: give their text as 'input'")
  },
  encoding_format: oneOf('float', 'base64'),
  // vLLM's: base64 is read and answered as little-endian float32.
  embed_dtype: oneOf('float32'),
  endianness: oneOf('native', 'little'),
  user: text,
}

/** Returns the number of vectors that the answer must have. */
export function checkEmbeddings(body: JsonObject): number {
  applyRules(body, embeddingRules)
  return checkInputs(body.input, 'input')
}
