/** The one interface between the worker and whatever runs a model: an embedded engine or a model server. */

export type JsonObject = { [key: string]: unknown }

/** Endpoints of other dialects, which an engine may have; the worker translates where it has not. */
export type NativeEndpoint = 'messages' | 'responses'

export type CountedEndpoint = 'chat' | 'messages' | 'completions'

export type EngineEndpoint = 'chat' | 'completions' | 'embeddings' | NativeEndpoint

/** Tokens as the engine counted them; cached tokens are a part of the prompt tokens. */
export type EngineUsage = {
  readonly promptTokens: number
  /** Undefined where the engine does not tell them. */
  readonly cachedTokens: number | undefined
  readonly completionTokens: number
  /** Absent where the engine counted itself while it answered. */
  readonly countedBy?: CountedBy | undefined
}

/** How a call was counted that was given up: by asking the server's tokenizer, or by a rule of thumb. */
export type CountedBy = 'tokenizer' | 'estimate'

/** One call in the shape of its endpoint: already validated, its model resolved, its `cache_salt` always set. */
export type EngineCall = {
  readonly endpoint: EngineEndpoint
  readonly body: JsonObject
  /** Of a native endpoint: the same request as a chat, for what only chats can be asked. */
  readonly asChat?: JsonObject | undefined
  readonly stream: boolean
  readonly signal: AbortSignal
  /** False where `cache_salt` was made for this request alone: nothing of it is kept afterwards. */
  readonly keepPrefix?: boolean
  /** Told whenever the counts grow; the last report is exact also after an abort or a failure. */
  readonly onUsage?: (usage: EngineUsage) => void
  /** Told when the call is given up and its counts are still being asked for; it never rejects. */
  readonly onSettling?: (counts: Promise<void>) => void
}

export type EngineAnswer =
  /** The whole answer of the endpoint, with usage. */
  | { readonly kind: 'complete'; readonly body: JsonObject }
  /**
   * OpenAI chunk objects, the last with `choices: []` and usage; or the events of a native endpoint
   * up to its good end. A failure inside throws EngineError.
   */
  | { readonly kind: 'stream'; readonly chunks: Chunks }

export type Chunks = { [Symbol.asyncIterator](): ChunkIterator }

export type ChunkIterator = AsyncIterator<JsonObject> & {
  /** The next chunk if it came together with the last one: what comes together can be passed on together. */
  ready?(): JsonObject | undefined
}

export type EngineModel = {
  readonly id: string
  readonly tasks: readonly ('generate' | 'embed')[]
  /** Lower-case hex SHA-256 of the model file, or the name of the weights as the server tells it. */
  readonly digest: string
  readonly contextLength: number
  readonly displayName: string
  /** Seconds since 1970. */
  readonly created: number
  readonly vision: boolean
}

/** How one path of a model server keeps the prompt caches of its callers apart. */
export type PathIsolation = {
  readonly model: string
  readonly endpoint: EngineEndpoint
  readonly state: /** Seen at the start: the same salt hits, another one misses. */
    | 'proven'
    /** Not seen, but this version of the server is known to keep salts apart. */
    | 'trusted'
    /** The server is told in every request not to use its cache. */
    | 'cache-off'
    /** The operator accepts that callers share. */
    | 'accepted'
    /** No prompt is sent there. */
    | 'unused'
  /** Why, in words for the log. */
  readonly detail: string
}

export interface Engine {
  /** For people, for example `llama.cpp 3.22.1`. */
  readonly name: string
  models(): readonly EngineModel[]
  call(call: EngineCall): Promise<EngineAnswer>
  /** Whether the engine answers this dialect itself, with its prompt caches proven apart there. */
  speaks?(endpoint: NativeEndpoint, modelId: string): boolean
  /**
   * Prompt tokens that a call with the same body would cost; `messages` only where it is spoken. Of
   * several prompts of one completion the longest counts, as it is what must fit the context.
   */
  countTokens(body: JsonObject, endpoint?: CountedEndpoint): Promise<number>
  /** Of a model server: every path of every model, also those that are not used. */
  isolation?(): readonly PathIsolation[]
  close(): Promise<void>
}

export type EngineErrorCode =
  | 'invalid_value'
  | 'unsupported_value'
  | 'context_length_exceeded'
  | 'model_not_found'
  | 'rate_limit_exceeded'
  | 'overloaded'
  | 'aborted'
  | 'engine_unavailable'
  | 'engine_failed'

export type EngineErrorType = 'invalid_request_error' | 'rate_limit_error' | 'server_error'

const statusAndType: Record<EngineErrorCode, readonly [number, EngineErrorType]> = {
  invalid_value: [400, 'invalid_request_error'],
  unsupported_value: [400, 'invalid_request_error'],
  context_length_exceeded: [400, 'invalid_request_error'],
  model_not_found: [404, 'invalid_request_error'],
  rate_limit_exceeded: [429, 'rate_limit_error'],
  overloaded: [503, 'server_error'],
  aborted: [499, 'server_error'],
  engine_unavailable: [503, 'server_error'],
  engine_failed: [500, 'server_error'],
}

export type EngineErrorOptions = ErrorOptions & {
  readonly param?: string | undefined
  readonly retryAfterSeconds?: number | undefined
  /** With `context_length_exceeded`: how long the prompt is, so that the answer can be fitted in. */
  readonly promptTokens?: number | undefined
  /** The answer had begun without a piece of content: the same may be asked in another way. */
  readonly isEarly?: boolean | undefined
}

/** What an engine refuses or fails at; the message may go to the caller and never quotes the prompt. */
export class EngineError extends Error {
  override readonly name = 'EngineError'
  readonly code: EngineErrorCode
  readonly status: number
  readonly type: EngineErrorType
  /** The request field at fault, where there is one. */
  readonly param: string | null
  /** Set where the same request may succeed later. */
  readonly retryAfterSeconds: number | undefined
  readonly promptTokens: number | undefined
  readonly isEarly: boolean

  constructor(code: EngineErrorCode, message: string, options: EngineErrorOptions = {}) {
    super(message, options)
    this.code = code
    const [status, type] = statusAndType[code]
    this.status = status
    this.type = type
    this.param = options.param ?? null
    this.retryAfterSeconds = options.retryAfterSeconds
    this.promptTokens = options.promptTokens
    this.isEarly = options.isEarly ?? false
  }
}
