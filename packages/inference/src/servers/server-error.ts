/** Rewrites the errors of model servers: their messages may quote the request. */
import { EngineError, type EngineErrorCode, type JsonObject } from '../engine.ts'

/** Words that servers use about requests in general; anything else may come from the request. */
const errorWords: ReadonlySet<string> = new Set(
  [
    'a an and any are as at be because been but by can cannot could did do does either empty for',
    'from has have if in into is it its least less many more most must need needs neither no non',
    'not of on one only or out over please provide provided should than that the there this to',
    'too under unless use used when which while with within without you your',
    'allowed argument array auto bad between body boolean character characters choice choices',
    'compile compiled conflict content contain contains configured convert enable enabled error',
    'errors exceed exceeded exceeds expected extra failed feature field fields float format',
    'forbidden found function given grammar greater image images implemented input integer invalid',
    'json key large length limit list long malformed mapping max maximum message messages min',
    'minimum missing model multimodal multiple name negative null number object option outside',
    'output parameter parameters parse parser pattern permitted positive prompt properties property',
    'range reasoning regex request requested required response role rule schema set short',
    'specification specified stream streaming string structured support supported supports syntax',
    'template text token tokens tool tools top type types unexpected unknown unrecognized',
    'unsupported valid validation value values zero',
  ].flatMap((line) => line.split(' ')),
)

const overflowWords =
  /context (?:length|window|size|limit)|maximum (?:context|input|sequence)|max_model_len|exceed_context|prompt is too long|input (?:is )?too long|too many tokens|longer than the model|max_completion_tokens is too large/i

/** Converts a server's error response: its status, its body, and the names of the request's fields. */
export function toEngineError(
  status: number,
  body: unknown,
  fields: readonly string[],
): EngineError {
  const error = errorObject(body)
  const message = typeof error.message === 'string' ? error.message : ''
  const isRefusal = status === 400 || status === 413 || status === 422
  if (isRefusal && isOverflow(error, message)) {
    return new EngineError('context_length_exceeded', 'the prompt does not fit the context', {
      promptTokens: count(error.n_prompt_tokens),
    })
  }
  const options = { param: fieldName(error.param, fields) }
  const reason = plainReason(message, fields)
  if (isRefusal) {
    const text = `the model server refused the request${reason === '' ? '' : `: ${reason}`}`
    return new EngineError('invalid_value', text, options)
  }
  return new EngineError(codeOf(status), `the model server answered ${status}`, options)
}

function codeOf(status: number): EngineErrorCode {
  switch (status) {
    case 401:
    case 403: // the key is the operator's concern, not the caller's
      return 'engine_unavailable'
    case 404:
    case 405:
    case 501:
      return 'unsupported_value'
    case 408:
    case 429:
    case 503:
    case 504:
      return 'overloaded'
    case 502:
      return 'engine_unavailable'
  }
  return status >= 400 && status < 500 ? 'invalid_value' : 'engine_failed'
}

/** Servers put it under `error` or at the top level, as an object or as text. */
function errorObject(body: unknown): JsonObject {
  if (typeof body !== 'object' || body === null) return {}
  const { error } = body as JsonObject
  if (typeof error === 'string') return { message: error }
  return (typeof error === 'object' && error !== null ? error : body) as JsonObject
}

function isOverflow(error: JsonObject, message: string): boolean {
  const names = [error.type, error.code].filter((name) => typeof name === 'string')
  return overflowWords.test(message) || names.some((name) => /context/.test(name))
}

/**
 * A server's reason without what it repeats from the request, quoted or not: only listed words are
 * kept, and the names of the request's fields, since the caller looks for them.
 */
function plainReason(message: string, fields: readonly string[]): string {
  const isShown = (word: string) => errorWords.has(word.toLowerCase()) || fields.includes(word)
  const shown = message
    .slice(0, 2000)
    .replace(/(['"`])((?:(?!\1).)*)\1/gs, (_, _quote, text: string) =>
      fields.includes(text) ? text : '…',
    )
    .replace(/[[{(].*?[\]})]/gs, '…')
    .replace(/[\p{L}\p{N}_.-]*[\p{L}\p{N}_]/gu, (word) => (isShown(word) ? word : '…'))
    .replace(/[^\p{L}\p{N}_.,:;…-]+/gu, ' ')
    .replace(/…(?:[ .,:;…-]*…)+/g, '…')
    .slice(0, 200)
    .trim()
  return /\p{L}/u.test(shown) ? shown : ''
}

function fieldName(param: unknown, fields: readonly string[]): string | undefined {
  return typeof param === 'string' && fields.includes(param) ? param : undefined
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}
