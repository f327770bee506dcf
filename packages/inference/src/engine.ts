/** The one interface between the worker and whatever runs a model: the embedded engine or a model server. */

export type JsonObject = { [key: string]: unknown }

/** Native endpoints of other dialects that an engine may have; the worker translates otherwise. */
export type NativeEndpoint = 'messages' | 'responses'

export type CountedEndpoint = 'chat' | 'messages' | 'completions'

export type EngineEndpoint = 'chat' | 'completions' | 'embeddings' | NativeEndpoint

/** Tokens as counted by the engine; cached tokens are included in the prompt tokens. */
export type EngineUsage = {
  readonly promptTokens: number
  /** Undefined if the engine does not report them. */
  readonly cachedTokens: number | undefined
  readonly completionTokens: number
  /** Absent if the engine counted while answering. */
  readonly countedBy?: CountedBy | undefined
}

/** How an aborted call was counted: by the server's tokenizer, or by a rule of thumb. */
export type CountedBy = 'tokenizer' | 'estimate'

/**
 * One call in the form of its endpoint: already validated, its model resolved, its `cache_salt`
 * always set.
 */
export type EngineCall = {
  readonly endpoint: EngineEndpoint
  readonly body: JsonObject
  /** For a native endpoint: the same request as a chat, for operations that only chats support. */
  readonly asChat?: JsonObject | undefined
  readonly stream: boolean
  /** Whether chunks of a stream that arrive together may be returned as one; see `RepeatedFormat`. */
  readonly isJoined?: boolean | undefined
  readonly signal: AbortSignal
  /** An opaque name for whoever makes the call; each gets only a share of the engine. */
  readonly caller?: string | undefined
  /** False if `cache_salt` was generated for this request alone: nothing is kept afterwards. */
  readonly keepPrefix?: boolean
  /** Called whenever the counts grow; the last report is exact even after an abort or a failure. */
  readonly onUsage?: (usage: EngineUsage) => void
  /** Called when the call is aborted while its counts are still being requested; it never rejects. */
  readonly onSettling?: (counts: Promise<void>) => void
}

/** `fitted`: the engine reduced the length of a chat answer to what the context allows. */
export type EngineAnswer =
  /** The complete answer of the endpoint, with usage. */
  | { readonly kind: 'complete'; readonly body: JsonObject; readonly fitted?: boolean }
  /**
   * OpenAI chunk objects, the last with `choices: []` and usage; or the events of a native endpoint
   * up to its proper end. A failure inside throws EngineError.
   */
  | { readonly kind: 'stream'; readonly chunks: Chunks; readonly fitted?: boolean }

export type Chunks = { [Symbol.asyncIterator](): ChunkIterator }

export type ChunkIterator = AsyncIterator<JsonObject> & {
  /** The next chunk if it arrived together with the last one, so that they can be passed on together. */
  ready?(): JsonObject | undefined
}

export type EngineModel = {
  readonly id: string
  readonly tasks: readonly ('generate' | 'embed')[]
  /** Lower-case hex SHA-256 of the model file, or the name of the weights as reported by the server. */
  readonly digest: string
  readonly contextLength: number
  readonly displayName: string
  /** Seconds since 1970. */
  readonly created: number
  readonly vision: boolean
}

/** How one path of a model server isolates the prompt caches of its callers. */
export type PathIsolation = {
  readonly model: string
  readonly endpoint: EngineEndpoint
  readonly state: /** Seen at the start: the same salt hits, another one misses. */
    | 'proven'
    /** Not observed, but this version of the server is known to isolate salts. */
    | 'trusted'
    /** The server has no cache, or every request tells it not to use it. */
    | 'cache-off'
    /** The operator accepts that callers share the cache. */
    | 'accepted'
    /** No prompt is sent there. */
    | 'unused'
  /** The reason, for the log. */
  readonly detail: string
}

export interface Engine {
  /** For people, for example `llama.cpp 3.22.1`. */
  readonly name: string
  /** Whether the contents of a chat may be a `LongText`. */
  readonly takesLongTexts?: boolean | undefined
  models(): readonly EngineModel[]
  call(call: EngineCall): Promise<EngineAnswer>
  /** Whether the engine answers this dialect natively, with prompt caches proven to be isolated there. */
  speaks?(endpoint: NativeEndpoint, modelId: string): boolean
  /**
   * Prompt tokens that a call with the same body would cost; `messages` only if it is native. Of
   * several prompts of one completion the longest counts, since it must fit the context. A server
   * without a tokenizer generates for it, within the limits of calls.
   */
  countTokens(
    body: JsonObject,
    endpoint?: CountedEndpoint,
    by?: Pick<EngineCall, 'caller' | 'signal'>,
  ): Promise<number>
  /** For a model server: every path of every model, including unused ones. */
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
  /** With `context_length_exceeded`: the length of the prompt, so that the answer's limit can be reduced. */
  readonly promptTokens?: number | undefined
  /** It failed before any content: the request may be retried in another way. */
  readonly isEarly?: boolean | undefined
}

/** A refusal or failure of an engine; the message may reach the caller and never quotes the prompt. */
export class EngineError extends Error {
  override readonly name = 'EngineError'
  readonly code: EngineErrorCode
  readonly status: number
  readonly type: EngineErrorType
  /** The request field at fault, if any. */
  readonly param: string | null
  /** Set if the same request may succeed later. */
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
