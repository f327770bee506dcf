/** Normalises the chunks of any engine to the form that clients rely on. */
import { EngineError, type JsonObject } from '../../engine.ts'
import { isObject } from '../json-value.ts'
import { dropTransferFields } from '../transfer-fields.ts'
import type { UsageMeter } from '../usage-meter.ts'
import { shareReasoning } from './check-content.ts'
import { mapFinishReason } from './finish-reason.ts'
import { newId } from './new-id.ts'

type ChoiceState = { isFinished: boolean; toolIds: Map<number, string>; lastTool: number }

/**
 * Same id, time and model in every chunk; the role in the first delta of a choice; an index in
 * every tool delta, its id and name only in the first; exactly one finish reason. Chunks are
 * modified in place: the engine does not use them again.
 */
export class ChatChunks {
  readonly #meter: UsageMeter
  readonly #model: string
  readonly #oneToolOnly: boolean
  readonly #choices = new Map<number, ChoiceState>()
  readonly #created = Math.floor(Date.now() / 1000)
  readonly #id = newId('chatcmpl-')
  #lastUsage: unknown

  constructor(meter: UsageMeter, model: string, oneToolOnly: boolean) {
    this.#meter = meter
    this.#model = model
    this.#oneToolOnly = oneToolOnly
  }

  /** The engine's usage object, with details beyond the counts. */
  get lastUsage(): unknown {
    return this.#lastUsage
  }

  /** An empty chunk of this stream, for information about the stream as a whole. */
  envelope(): JsonObject {
    return {
      id: this.#id,
      object: 'chat.completion.chunk',
      created: this.#created,
      model: this.#model,
      choices: [],
    }
  }

  readUsage({ usage }: JsonObject): void {
    if (!isObject(usage)) return
    this.#meter.readWire(usage)
    this.#lastUsage = usage
  }

  /** The normalised choices of a chunk; none if the chunk only had counts. */
  normalize(chunk: JsonObject): JsonObject[] {
    this.readUsage(chunk)
    delete chunk.usage
    dropTransferFields(chunk)
    chunk.id = this.#id
    chunk.object = 'chat.completion.chunk'
    chunk.created = this.#created
    chunk.model = this.#model
    const choices = Array.isArray(chunk.choices) ? chunk.choices.filter(isObject) : []
    chunk.choices = choices
    for (const choice of choices) this.#normalizeChoice(choice)
    return choices
  }

  /** A choice without a finish reason was truncated: that is a failure, even if the stream ended cleanly. */
  requireFinished(): void {
    const isWhole = this.#choices.size > 0 && [...this.#choices.values()].every((c) => c.isFinished)
    if (!isWhole) throw new EngineError('engine_failed', 'the engine ended before its answer did')
  }

  #normalizeChoice(choice: JsonObject): void {
    const index = typeof choice.index === 'number' ? choice.index : 0
    choice.index = index
    if (!isObject(choice.delta)) choice.delta = {}
    const delta = choice.delta as JsonObject
    let state = this.#choices.get(index)
    if (state === undefined) {
      state = { isFinished: false, toolIds: new Map(), lastTool: -1 }
      this.#choices.set(index, state)
      delta.role = 'assistant'
      delta.content ??= ''
    } else delete delta.role
    shareReasoning(delta)
    if (delta.tool_calls !== undefined) this.#normalizeTools(delta, state)
    const hasEnd = typeof choice.finish_reason === 'string' && !state.isFinished
    choice.finish_reason = hasEnd
      ? mapFinishReason(choice.finish_reason, state.lastTool >= 0)
      : null
    state.isFinished ||= hasEnd
    choice.logprobs ??= null
  }

  #normalizeTools(delta: JsonObject, state: ChoiceState): void {
    const calls = Array.isArray(delta.tool_calls) ? delta.tool_calls.filter(isObject) : []
    for (const call of calls) {
      call.index = toolIndex(call, state)
      // Calls that are left out count too: later deltas without an index belong to the last one.
      normalizeTool(call, state)
    }
    const kept = calls.filter((call) => !(this.#oneToolOnly && call.index !== 0))
    if (kept.length > 0) delta.tool_calls = kept
    else delete delta.tool_calls
  }
}

/** If a server omits the index, a new id starts a new call. */
function toolIndex(call: JsonObject, state: ChoiceState): number {
  if (typeof call.index === 'number') return call.index
  const isNew = typeof call.id === 'string' && state.toolIds.get(state.lastTool) !== call.id
  return isNew ? state.lastTool + 1 : Math.max(state.lastTool, 0)
}

function normalizeTool(call: JsonObject, state: ChoiceState): void {
  const index = call.index as number
  const named: JsonObject = isObject(call.function) ? call.function : {}
  call.function = named
  state.lastTool = Math.max(state.lastTool, index)
  if (state.toolIds.has(index)) {
    delete call.id
    delete call.type
    delete named.name
    return
  }
  const id = typeof call.id === 'string' && call.id !== '' ? call.id : newId('call_')
  state.toolIds.set(index, id)
  call.id = id
  call.type = 'function'
  named.arguments ??= ''
}
