/** An engine scripted by a test, for tests of the API core. */
import type {
  Engine,
  EngineAnswer,
  EngineCall,
  EngineModel,
  EngineUsage,
  JsonObject,
} from '../engine.ts'

export type Script = {
  readonly models?: readonly EngineModel[]
  /** The deltas of choice 0, in order; both a stream and a complete answer are built from them. */
  readonly deltas?: readonly JsonObject[]
  readonly finishReason?: string | null
  readonly stopReason?: string | null
  /** Exact chunks, instead of deltas. */
  readonly chunks?: readonly JsonObject[]
  /** The exact complete answer, instead of deltas. */
  readonly body?: JsonObject
  readonly usage?: JsonObject
  readonly tokens?: number
  /** Runs before anything is answered; it may wait or throw. */
  readonly before?: (call: EngineCall) => void | Promise<void>
  /** Runs before each chunk; it may wait or throw. */
  readonly beforeChunk?: (index: number, call: EngineCall) => void | Promise<void>
}

export const chatModel: EngineModel = {
  id: 'org/chat-1',
  tasks: ['generate'],
  digest: '00'.repeat(32),
  contextLength: 1000,
  displayName: 'Chat 1',
  created: 1_700_000_000,
  vision: false,
}
export const visionModel: EngineModel = { ...chatModel, id: 'eyes', created: 2, vision: true }
export const embedModel: EngineModel = { ...chatModel, id: 'embed', tasks: ['embed'], created: 1 }

const defaultUsage: JsonObject = {
  prompt_tokens: 10,
  completion_tokens: 3,
  total_tokens: 13,
  prompt_tokens_details: { cached_tokens: 4 },
}

export class ScriptedEngine implements Engine {
  readonly name = 'scripted'
  readonly calls: EngineCall[] = []
  readonly counted: JsonObject[] = []
  hasStopped = false
  readonly #script: Script

  constructor(script: Script = {}) {
    this.#script = script
  }

  models(): readonly EngineModel[] {
    return this.#script.models ?? [chatModel, visionModel, embedModel]
  }

  async call(call: EngineCall): Promise<EngineAnswer> {
    this.calls.push(call)
    await this.#script.before?.(call)
    if (call.stream) return { kind: 'stream', chunks: this.#stream(call) }
    return { kind: 'complete', body: structuredClone(this.#script.body ?? this.#whole()) }
  }

  async countTokens(body: JsonObject): Promise<number> {
    this.counted.push(body)
    return this.#script.tokens ?? 10
  }

  async close(): Promise<void> {}

  async *#stream(call: EngineCall): AsyncGenerator<JsonObject> {
    try {
      let index = 0
      for (const chunk of this.#script.chunks ?? this.#chunks()) {
        await this.#script.beforeChunk?.(index++, call)
        yield structuredClone(chunk)
      }
    } finally {
      this.hasStopped = true
    }
  }

  #chunks(): JsonObject[] {
    const {
      deltas = [],
      finishReason = 'stop',
      stopReason = null,
      usage = defaultUsage,
    } = this.#script
    const choices = deltas.map((delta) => [{ index: 0, delta, finish_reason: null }])
    const end = { index: 0, delta: {}, finish_reason: finishReason, stop_reason: stopReason }
    const all = [...choices, ...(finishReason === null ? [] : [[end]])]
    return [...all.map((one) => ({ choices: one })), { choices: [], usage }]
  }

  #whole(): JsonObject {
    const {
      deltas = [],
      finishReason = 'stop',
      stopReason = null,
      usage = defaultUsage,
    } = this.#script
    const text = (name: string) => deltas.map((delta) => delta[name] ?? '').join('')
    const calls = deltas.flatMap((delta) => (delta.tool_calls as ToolDelta[] | undefined) ?? [])
    const tools = new Map<number, ToolDelta>()
    for (const call of calls) {
      const known = tools.get(call.index)
      if (known === undefined) tools.set(call.index, structuredClone(call))
      else known.function.arguments = `${known.function.arguments ?? ''}${call.function.arguments}`
    }
    const message = {
      content: text('content') === '' ? null : text('content'),
      ...(text('reasoning') === '' ? {} : { reasoning: text('reasoning') }),
      ...(tools.size === 0 ? {} : { tool_calls: [...tools.values()] }),
    }
    return {
      choices: [{ index: 0, message, finish_reason: finishReason, stop_reason: stopReason }],
      usage,
    }
  }
}

type ToolDelta = {
  index: number
  id?: string
  function: { name?: string; arguments?: string }
}

/** Reports usage as an engine does while it generates. */
export function reportUsage(call: EngineCall, usage: Partial<EngineUsage>): void {
  call.onUsage?.({ promptTokens: 0, cachedTokens: 0, completionTokens: 0, ...usage })
}
