/** Assembles the chunks of a stream into the complete answer that the caller asked for. */
import { eachChunk } from '../each-chunk.ts'
import { type Chunks, type EngineCall, EngineError, type JsonObject } from '../engine.ts'
import type { ServerKind } from './http-settings.ts'
import { countsOneOf } from './several-choices.ts'

/**
 * Servers parse tool calls with different code in a stream than in a complete answer, and a stream
 * does not carry the other fields: with any of them, the answer is requested unstreamed.
 */
const wholeOnly: ReadonlySet<string> = new Set([
  ...['tools', 'functions', 'prompt_logprobs', 'echo', 'best_of', 'use_beam_search'],
])

/** Whether a complete answer may be requested as a stream without losing anything. */
export function isAssembled(
  kind: ServerKind,
  { endpoint, body }: Pick<EngineCall, 'endpoint' | 'body'>,
): boolean {
  if (endpoint === 'embeddings') return false
  // The only field that such a server sends just in unstreamed answers is log probabilities.
  const isForCounts = countsOneOf(kind, body)
  return Object.entries(body).every(([name, value]) => {
    const isEmpty = Array.isArray(value) && value.length === 0
    if (value === undefined || value === null || value === false || isEmpty) return true
    // In streams, other servers omit the log probabilities of tokens that have no visible text.
    if ((name === 'logprobs' || name === 'n_probs') && kind !== 'vllm') return false
    // Hidden states, token ids and the like: servers refuse them in a stream, or put them
    // elsewhere.
    return isForCounts || (!wholeOnly.has(name) && !name.startsWith('return_'))
  })
}

/** Unknown fields survive: lists and pieces of text are joined; for everything else the last value counts. */
export async function assembleAnswer(chunks: Chunks): Promise<JsonObject> {
  const answer: JsonObject = {}
  const choices = new Map<number, JsonObject>()
  await eachChunk(chunks, (chunk) => {
    for (const name of Object.keys(chunk)) {
      if (chunk[name] !== null) answer[name] = chunk[name]
    }
    for (const part of Array.isArray(chunk.choices) ? chunk.choices.filter(isObject) : []) {
      const index = typeof part.index === 'number' ? part.index : 0
      choices.set(index, addPart(choices.get(index) ?? { index }, part))
    }
  })
  const whole = [...choices.values()].sort((a, b) => Number(a.index) - Number(b.index))
  const isFinished = whole.every((choice) => typeof choice.finish_reason === 'string')
  if (whole.length === 0 || !isFinished)
    throw new EngineError('engine_failed', 'the model server ended before its answer did')
  return { ...answer, choices: whole }
}

function addPart(choice: JsonObject, part: JsonObject): JsonObject {
  for (const name of Object.keys(part)) {
    const value = part[name]
    if (name === 'index') continue
    if (value === null || value === undefined) choice[name] ??= null
    else if (name === 'delta') choice.message = join(choice.message, value)
    else if (name === 'logprobs') choice.logprobs = join(choice.logprobs, value)
    else if (name === 'text') choice.text = `${choice.text ?? ''}${value}`
    else choice[name] = Array.isArray(value) ? joinValue(choice[name], value) : value
  }
  return choice
}

/** Appends the fields of a delta, or the lists of log probabilities, to the previous ones. */
function join(before: unknown, added: unknown): JsonObject {
  const joined: JsonObject = isObject(before) ? before : {}
  if (!isObject(added)) return joined
  for (const name of Object.keys(added)) {
    const value = added[name]
    if (name === 'role') joined.role = value
    else if (name === 'tool_calls') joined.tool_calls = joinCalls(joined.tool_calls, value)
    else joined[name] = joinValue(joined[name], value)
  }
  return joined
}

/** The first piece with a new index starts a call; later ones add to its arguments. */
function joinCalls(before: unknown, added: unknown): unknown {
  if (!Array.isArray(added)) return before ?? null
  const calls: JsonObject[] = Array.isArray(before) ? before : []
  for (const { index, ...piece } of added.filter(isObject)) {
    const at = typeof index === 'number' ? index : calls.length
    const call = calls[at]
    if (call === undefined) calls[at] = piece
    else call.function = join(call.function, piece.function)
  }
  return calls
}

function joinValue(before: unknown, added: unknown): unknown {
  if (added === null || added === undefined) return before ?? null
  if (typeof before === 'string' && typeof added === 'string') return before + added
  if (Array.isArray(before) && Array.isArray(added)) {
    before.push(...added)
    return before
  }
  return added
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
