/** Wire types of Anthropic's dialect, limited to commonly used fields; others pass through unchanged. */

/** One content block of a message. */
export type MessageBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature?: string }
  | {
      readonly type: 'tool_use'
      readonly id: string
      readonly name: string
      readonly input: { readonly [field: string]: unknown }
    }

/** One message of the conversation. */
export type MessageInput = {
  readonly role: 'user' | 'assistant' | 'system'
  readonly content: string | readonly { readonly type: string; readonly [field: string]: unknown }[]
}

/** The body of a message request. Fields that are not listed are sent unchanged. */
export type MessageRequest = {
  readonly model: string
  readonly max_tokens: number
  readonly messages: readonly MessageInput[]
  readonly system?: string | readonly { readonly type: 'text'; readonly text: string }[]
  readonly temperature?: number
  readonly stop_sequences?: readonly string[]
  readonly tools?: readonly {
    readonly name: string
    readonly description?: string
    readonly input_schema: { readonly [field: string]: unknown }
  }[]
  /** Requests with the same salt may share a prompt cache; takes precedence over the client's policy. */
  readonly cache_salt?: string
  readonly [field: string]: unknown
}

/** Token counts of one message. */
export type MessageUsage = { readonly input_tokens: number; readonly output_tokens: number }

/** Why the model stopped. */
export type StopReason =
  | 'end_turn'
  | 'max_tokens'
  | 'stop_sequence'
  | 'tool_use'
  | 'pause_turn'
  | 'refusal'
  | 'model_context_window_exceeded'

/** A complete message from the model. */
export type Message = {
  readonly id: string
  readonly type: 'message'
  readonly role: 'assistant'
  readonly model: string
  readonly content: readonly MessageBlock[]
  readonly stop_reason: StopReason | null
  readonly stop_sequence: string | null
  readonly usage: MessageUsage
}

/** An increment to one content block of a stream. */
export type BlockDelta =
  | { readonly type: 'text_delta'; readonly text: string }
  | { readonly type: 'input_json_delta'; readonly partial_json: string }
  | { readonly type: 'thinking_delta'; readonly thinking: string }
  | { readonly type: 'signature_delta'; readonly signature: string }

/** One event of a streamed message. */
export type MessageEvent =
  | { readonly type: 'message_start'; readonly message: Message }
  | {
      readonly type: 'content_block_start'
      readonly index: number
      readonly content_block: MessageBlock
    }
  | { readonly type: 'content_block_delta'; readonly index: number; readonly delta: BlockDelta }
  | { readonly type: 'content_block_stop'; readonly index: number }
  | {
      readonly type: 'message_delta'
      readonly delta: {
        readonly stop_reason: StopReason | null
        readonly stop_sequence: string | null
      }
      readonly usage: { readonly output_tokens: number }
    }
  | { readonly type: 'message_stop' }
  | { readonly type: 'ping' }
