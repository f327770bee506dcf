/** The wire types of OpenAI's dialect, as far as programs usually need them; more fields may travel. */

export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  /** `url` is a `data:` URL: a worker fetches nothing for a caller. */
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }

export type ChatMessage = {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  readonly content?: string | readonly ContentPart[] | null
  readonly tool_calls?: readonly ToolCall[]
  readonly tool_call_id?: string
  readonly [field: string]: unknown
}

export type ToolCall = {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

export type Tool = {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description?: string
    readonly parameters?: { readonly [field: string]: unknown }
    readonly strict?: boolean
  }
}

/** Fields that are not listed are sent as they are. */
export type ChatRequest = {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly max_completion_tokens?: number
  readonly temperature?: number
  readonly top_p?: number
  readonly stop?: string | readonly string[]
  readonly seed?: number
  readonly tools?: readonly Tool[]
  /** Requests with the same salt may share a prompt cache; it wins over the client's policy. */
  readonly cache_salt?: string
  readonly [field: string]: unknown
}

export type TokenUsage = {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly [field: string]: unknown
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call'

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

export type EmbeddingsRequest = {
  readonly model: string
  readonly input: string | readonly string[]
  readonly dimensions?: number
  readonly [field: string]: unknown
}

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
