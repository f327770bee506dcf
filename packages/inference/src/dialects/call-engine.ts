/** Calls the engine for one exchange, and reduces an oversized token limit to what the context allows. */
import {
  type ChunkIterator,
  type EngineAnswer,
  type EngineCall,
  type EngineEndpoint,
  EngineError,
  type JsonObject,
  type NativeEndpoint,
} from '../engine.ts'
import type { Exchange } from './api-request.ts'
import { toApiError } from './engine-failure.ts'
import { isObject } from './json-value.ts'

export type StartedStream = {
  /** Chunks before the first content. */
  readonly preamble: readonly JsonObject[]
  readonly first: IteratorResult<JsonObject>
  readonly rest: ChunkIterator
  /** Whether the context, rather than the caller, bounds the length of the answer. */
  readonly fitted: boolean
}

export async function completeCall(
  exchange: Exchange,
  endpoint: EngineEndpoint,
  body: JsonObject,
): Promise<{ body: JsonObject; fitted: boolean }> {
  return fit(exchange, endpoint, body, async (wanted) => {
    const answer = await call(exchange, { endpoint, body: wanted }, false, exchange.signal)
    if (answer.kind !== 'complete')
      throw new EngineError('engine_failed', 'engine streamed unasked')
    exchange.meter.readWire(answer.body.usage)
    return answer
  }).then(({ result, fitted }) => ({ body: result.body, fitted }))
}

/** Starts a stream up to its first content, so that a refusal is known before anything is answered. */
export async function startStream(
  exchange: Exchange,
  endpoint: EngineEndpoint,
  body: JsonObject,
  signal: AbortSignal,
  isJoined?: boolean,
): Promise<StartedStream> {
  const { result, fitted } = await fit(exchange, endpoint, body, (wanted) =>
    begin(exchange, { endpoint, body: wanted, isJoined }, signal),
  )
  return { ...result, fitted }
}

/** The codes with which a server refuses a request before it has done any work. */
const refusals: ReadonlySet<string> = new Set([
  'invalid_value',
  'unsupported_value',
  'context_length_exceeded',
])

/**
 * Calls the engine's native endpoint of a dialect. Undefined if it refuses: the translated path may
 * support more, counts what does not fit, and has proper messages for failures.
 */
export async function tryNative<R>(ask: () => Promise<R>): Promise<R | undefined> {
  try {
    return await ask()
  } catch (thrown) {
    if (thrown instanceof EngineError && (refusals.has(thrown.code) || thrown.isEarly))
      return undefined
    throw thrown
  }
}

export async function completeNative(
  exchange: Exchange,
  endpoint: NativeEndpoint,
  body: JsonObject,
  asChat: JsonObject,
): Promise<JsonObject> {
  const answer = await call(exchange, { endpoint, body, asChat }, false, exchange.signal)
  if (answer.kind === 'complete') return answer.body
  throw new EngineError('engine_failed', 'engine streamed unasked')
}

export async function startNative(
  exchange: Exchange,
  endpoint: NativeEndpoint,
  body: JsonObject,
  asChat: JsonObject,
  signal: AbortSignal,
): Promise<StartedStream> {
  const started = await begin(exchange, { endpoint, body, asChat }, signal)
  return { ...started, fitted: false }
}

/** Events of native streams that precede all content. */
const preambles: ReadonlySet<unknown> = new Set([
  ...['message_start', 'ping', 'response.created', 'response.queued', 'response.in_progress'],
])

/** More than a server has choices to announce. */
const mostPreamble = 256

/** Whether a chunk says nothing yet: until content comes a server may still refuse, whatever its status was. */
function isPreamble({ type, choices }: JsonObject): boolean {
  if (preambles.has(type)) return true
  return Array.isArray(choices) && choices.length > 0 && choices.every(announcesRole)
}

function announcesRole(choice: unknown): boolean {
  if (!isObject(choice) || !isObject(choice.delta)) return false
  const { role, content, ...rest } = choice.delta
  const isSilent = (value: unknown) => value === undefined || value === null || value === ''
  const hasEnded = !isSilent(choice.finish_reason)
  return role !== undefined && !hasEnded && [content, ...Object.values(rest)].every(isSilent)
}

type Begun = Omit<StartedStream, 'fitted'> & Pick<EngineAnswer, 'fitted'>
type Question = Pick<EngineCall, 'endpoint' | 'body' | 'asChat' | 'isJoined'>

async function begin(exchange: Exchange, question: Question, signal: AbortSignal): Promise<Begun> {
  const answer = await call(exchange, question, true, signal)
  if (answer.kind !== 'stream') throw new EngineError('engine_failed', 'engine did not stream')
  const rest = answer.chunks[Symbol.asyncIterator]()
  const preamble: JsonObject[] = []
  let first = await rest.next()
  while (first.done !== true && preamble.length < mostPreamble && isPreamble(first.value)) {
    preamble.push(first.value)
    first = await rest.next()
  }
  return { preamble, first, rest, ...(answer.fitted && { fitted: true }) }
}

function call(
  exchange: Exchange,
  question: Question,
  stream: boolean,
  signal: AbortSignal,
): Promise<EngineAnswer> {
  return exchange.engine.call({
    ...question,
    stream,
    signal,
    keepPrefix: exchange.keepPrefix,
    caller: exchange.caller,
    onUsage: (usage) => exchange.meter.report(usage),
    onSettling: (counts) => exchange.meter.settleAfter(counts),
  })
}

/** Agents request 32,000 tokens whatever the context is; a prompt that fits must not fail because of that. */
async function fit<R extends Pick<EngineAnswer, 'fitted'>>(
  exchange: Exchange,
  endpoint: EngineEndpoint,
  body: JsonObject,
  run: (body: JsonObject) => Promise<R>,
): Promise<{ result: R; fitted: boolean }> {
  try {
    const result = await run(body)
    return { result, fitted: result.fitted === true }
  } catch (thrown) {
    const counted = await countOverflow(exchange, endpoint, body, thrown)
    const room = exchange.model.contextLength - (counted?.promptTokens ?? Number.POSITIVE_INFINITY)
    const isFittable = typeof body.max_tokens === 'number' && room > 0 && room < body.max_tokens
    if (!isFittable) throw toApiError(counted ?? thrown, { ...exchange, body })
    const fitted: JsonObject = { ...body, max_tokens: room }
    if (body.max_completion_tokens !== undefined) fitted.max_completion_tokens = room
    try {
      return { result: await run(fitted), fitted: true }
    } catch (again) {
      throw toApiError(again, { ...exchange, body }) // reported with the limit the caller gave
    }
  }
}

/** An overflow with its prompt counted; undefined if it is not one or cannot be counted. */
async function countOverflow(
  exchange: Exchange,
  endpoint: EngineEndpoint,
  body: JsonObject,
  thrown: unknown,
): Promise<EngineError | undefined> {
  if (!(thrown instanceof EngineError) || thrown.code !== 'context_length_exceeded')
    return undefined
  const isCountable = endpoint === 'chat' || endpoint === 'completions'
  if (thrown.promptTokens !== undefined || !isCountable) return thrown
  try {
    const promptTokens = await exchange.engine.countTokens(body, endpoint, exchange)
    return new EngineError(thrown.code, thrown.message, { cause: thrown, promptTokens })
  } catch {
    return thrown // the refusal stands, only its number is missing
  }
}
