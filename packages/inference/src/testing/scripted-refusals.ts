/** What real model servers refuse, refused by the scripted one: held against recordings of real ones. */
import { findModel } from '@privatemode/protocol/api'
import type { JsonObject } from '../engine.ts'
import type { ServerKind } from '../servers/http-settings.ts'

export type Refusal = {
  readonly status: number
  readonly message: string
  /** In a stream it comes after status 200. */
  readonly isLate?: boolean
  /** It has OpenAI's form in every dialect, since no dialect has read the request yet. */
  readonly isOpenAi?: boolean
}

export function refusalOf(
  kind: ServerKind,
  path: string,
  body: JsonObject,
  models: readonly string[],
): Refusal | undefined {
  if (body.temperature !== undefined && typeof body.temperature !== 'number')
    return { status: 400, message: 'temperature should be a number' }
  if (kind === 'ollama') return refusalOfOllama(path, body, models)
  // The words quote the request, as real ones do.
  if (hasInvalidSchema(body))
    return { status: 400, message: 'Grammar error: Invalid type', isLate: kind !== 'llama-server' }
  const isStored = path === '/v1/responses' && typeof body.previous_response_id === 'string'
  if (kind === 'llama-server')
    return isStored ? { status: 400, message: 'previous_response_id' } : undefined
  if (kind === 'sglang') return refusalOfSglang(path, body, isStored)
  if (kind !== 'vllm') return undefined
  if (!models.includes(String(body.model)))
    return { status: 404, message: `The model ${body.model} does not exist.` }
  if (isStored) return { status: 404, message: 'Response with that id not found.' }
  return refusalOfVllm(path, body)
}

function refusalOfVllm(path: string, body: JsonObject): Refusal | undefined {
  if (!isSaltAccepted(body.cache_salt)) return { status: 400, message: saltRefusal }
  if (path === '/v1/messages' && body.max_tokens === undefined)
    return { status: 400, message: 'max_tokens: Field required', isOpenAi: true }
  const isEmpty = Array.isArray(body.messages) && body.messages.length === 0
  if (isEmpty) return { status: 400, message: 'messages must not be empty' }
  if (body.stream_options !== undefined && body.stream !== true)
    return { status: 400, message: 'Stream options can only be defined when `stream=True`.' }
  if (path === '/v1/completions' && Number(body.logprobs) > maxLogprobs)
    return { status: 400, message: `Requested more than ${maxLogprobs} logprobs` }
  return undefined
}

const roles: readonly unknown[] = ['system', 'developer', 'user', 'assistant', 'tool', 'function']

/** Any name of a model is accepted. */
function refusalOfSglang(path: string, body: JsonObject, isStored: boolean): Refusal | undefined {
  if (isStored) return { status: 400, message: 'Response storage is disabled.' }
  if (path === '/v1/completions' && body.max_tokens === 0)
    return { status: 400, message: 'max_tokens must be positive' }
  const messages = Array.isArray(body.messages) ? (body.messages as JsonObject[]) : undefined
  if (messages?.length === 0) return { status: 400, message: 'Messages cannot be empty.' }
  if (messages?.some(({ role }) => !roles.includes(role)) === true)
    return { status: 400, message: 'messages.0: Input should be a valid message' }
  if (path !== '/v1/messages') return undefined
  if (body.max_tokens === undefined) return { status: 400, message: 'max_tokens: Field required' }
  const isNamed = (body.tool_choice as JsonObject | undefined)?.type === 'tool'
  return isNamed ? { status: 500, message: 'Internal Server Error' } : undefined
}

/** What the Rust frontend of vLLM 0.33 lacks. */
export function refusalOfRust(path: string, body: JsonObject): Refusal | undefined {
  if (path.startsWith('/v1/messages'))
    return { status: 501, message: `POST ${path} is not supported by the Rust frontend yet.` }
  if (path === '/v1/responses' || path === '/v1/embeddings')
    return { status: 404, message: 'not found' }
  if (Number(body.n ?? 1) > 1) return { status: 400, message: 'Only n=1 is supported.' }
  const isList = Array.isArray(body.prompt) && typeof body.prompt[0] !== 'number'
  return isList ? { status: 400, message: 'prompt: data did not match any variant' } : undefined
}

/** As Ollama 0.17: salts and ids of earlier responses are ignored, schemas fail in its engine. */
function refusalOfOllama(
  path: string,
  body: JsonObject,
  models: readonly string[],
): Refusal | undefined {
  const cards = models.map((id) => ({ id }))
  if (path.startsWith('/v1/') && findModel(cards, String(body.model)) === undefined)
    return { status: 404, message: `model '${body.model}' not found` }
  if (hasInvalidSchema(body)) return { status: 500, message: 'failed to load model vocabulary' }
  const isEmpty = Array.isArray(body.messages) && body.messages.length === 0
  if (isEmpty) return { status: 400, message: '[] is too short - "messages"' }
  if (path === '/v1/messages' && body.max_tokens === undefined)
    return { status: 400, message: 'max_tokens is required and must be positive' }
  if (path !== '/v1/completions') return undefined
  if (Array.isArray(body.prompt)) return { status: 400, message: 'prompt must be a string' }
  const isBeyond = Number(body.logprobs) > maxLogprobs
  return isBeyond ? { status: 400, message: 'top_logprobs must be between 0 and 20' } : undefined
}

const maxLogprobs = 20
const schemaTypes = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

function hasInvalidSchema(body: JsonObject): boolean {
  const format = (body.response_format ?? (body.text as JsonObject | undefined)?.format) as
    | JsonObject
    | undefined
  const schema = ((format?.json_schema as JsonObject | undefined) ?? format)?.schema
  const type = (schema as JsonObject | undefined)?.type
  return typeof type === 'string' && !schemaTypes.includes(type)
}

/** As vLLM from 0.30 on. */
function isSaltAccepted(salt: unknown): boolean {
  if (salt === undefined || salt === null) return true
  return typeof salt === 'string' && salt !== '' && salt.length <= 128 && !/[@/\\\0]/.test(salt)
}

const saltRefusal =
  "Parameter 'cache_salt' must be at most 128 characters and must not contain '@', '/', '\\\\', or NUL."
