/** Wire types of OpenAI's dialect, limited to commonly used fields; others pass through unchanged. */

/** One part of a message's content. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  /** `url` must be a `data:` URL: workers do not fetch anything for a caller. */
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }

/** One message of the conversation. */
export type ChatMessage = {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  readonly content?: string | readonly ContentPart[] | null
  readonly tool_calls?: readonly ToolCall[]
  readonly tool_call_id?: string
  readonly [field: string]: unknown
}

/** A function call requested by the model. */
export type ToolCall = {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** A function the model may call. */
export type Tool = {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description?: string
    readonly parameters?: { readonly [field: string]: unknown }
    readonly strict?: boolean
  }
}

/** The body of a chat completion request. Fields that are not listed are sent unchanged. */
export type ChatRequest = {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly max_completion_tokens?: number
  readonly temperature?: number
  readonly top_p?: number
  readonly stop?: string | readonly string[]
  readonly seed?: number
  readonly tools?: readonly Tool[]
  /** Requests with the same salt may share a prompt cache; takes precedence over the client's policy. */
  readonly cache_salt?: string
  readonly [field: string]: unknown
}

/** Token counts of one answer. */
export type TokenUsage = {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly [field: string]: unknown
}

/** Why the model stopped. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call'

/** A complete chat completion. */
export type ChatCompletion = {
  readonly id: string
  readonly object: 'chat.completion'
  readonly created: number
  readonly model: string
  readonly choices: readonly {
    readonly index: number
    readonly message: {
      readonly role: 'assistant'
      readonly content: string | null
      readonly refusal?: string | null
      readonly reasoning_content?: string | null
      readonly tool_calls?: readonly ToolCall[]
    }
    readonly finish_reason: FinishReason
  }[]
  readonly usage: TokenUsage
}

/** One event of a streamed chat completion. */
export type ChatChunk = {
  readonly id: string
  readonly object: 'chat.completion.chunk'
  readonly created: number
  readonly model: string
  readonly choices: readonly {
    readonly index: number
    readonly delta: {
      readonly role?: 'assistant'
      readonly content?: string | null
      readonly reasoning_content?: string | null
      readonly tool_calls?: readonly {
        readonly index: number
        readonly id?: string
        readonly type?: 'function'
        readonly function?: { readonly name?: string; readonly arguments?: string }
      }[]
    }
    readonly finish_reason: FinishReason | null
  }[]
  readonly usage?: TokenUsage | null
}

/** The body of an embeddings request. */
export type EmbeddingsRequest = {
  readonly model: string
  readonly input: string | readonly string[]
  readonly dimensions?: number
  readonly [field: string]: unknown
}

/** The embeddings of each input. */
export type Embeddings = {
  readonly object: 'list'
  readonly model: string
  readonly data: readonly {
    readonly object: 'embedding'
    readonly index: number
    readonly embedding: readonly number[]
  }[]
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number }
}
