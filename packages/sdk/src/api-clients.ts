/** The small typed clients behind `pm.chat`, `pm.messages`, `pm.embeddings` and `pm.models`. */
import { formatModel, type ModelObject, requireModel } from '@privatemode/protocol/api'
import type { Message, MessageEvent, MessageRequest } from './anthropic-types.ts'
import type { ApiCalls, ApiResult, CallOptions } from './api-calls.ts'
import type { ApiStream } from './api-stream.ts'
import type { PrivateClient } from './client.ts'
import type {
  ChatChunk,
  ChatCompletion,
  ChatRequest,
  Embeddings,
  EmbeddingsRequest,
} from './openai-types.ts'
import { toPrivatemodeError } from './privatemode-error.ts'

/** OpenAI's chat completions. */
export class ChatClient {
  readonly #calls: ApiCalls

  constructor(calls: ApiCalls) {
    this.#calls = calls
  }

  create(request: ChatRequest, options?: CallOptions): Promise<ApiResult<ChatCompletion>> {
    return this.#calls.whole('/v1/chat/completions', request, options)
  }

  stream(request: ChatRequest, options?: CallOptions): Promise<ApiStream<ChatChunk>> {
    return this.#calls.stream('/v1/chat/completions', request, options)
  }
}

/** Anthropic's messages. */
export class MessagesClient {
  readonly #calls: ApiCalls

  constructor(calls: ApiCalls) {
    this.#calls = calls
  }

  create(request: MessageRequest, options?: CallOptions): Promise<ApiResult<Message>> {
    return this.#calls.whole('/v1/messages', request, options)
  }

  stream(request: MessageRequest, options?: CallOptions): Promise<ApiStream<MessageEvent>> {
    return this.#calls.stream('/v1/messages', request, options)
  }

  /** Counts the input tokens that the same request would use. */
  countTokens(
    request: Omit<MessageRequest, 'max_tokens'> & { readonly model: string },
    options?: CallOptions,
  ): Promise<ApiResult<{ readonly input_tokens: number }>> {
    return this.#calls.whole('/v1/messages/count_tokens', request, options)
  }
}

/** OpenAI's embeddings. */
export class EmbeddingsClient {
  readonly #calls: ApiCalls

  constructor(calls: ApiCalls) {
    this.#calls = calls
  }

  create(request: EmbeddingsRequest, options?: CallOptions): Promise<ApiResult<Embeddings>> {
    return this.#calls.whole('/v1/embeddings', request, options)
  }
}

/** The models that the manifest lists and a worker serves. */
export class ModelsClient {
  readonly #client: PrivateClient
  readonly #apiKey: string

  constructor(client: PrivateClient, apiKey: string) {
    this.#client = client
    this.#apiKey = apiKey
  }

  async list(): Promise<readonly ModelObject[]> {
    try {
      return (await this.#client.models(this.#apiKey)).map((facts) => formatModel(facts))
    } catch (error) {
      throw toPrivatemodeError(error)
    }
  }

  async get(id: string): Promise<ModelObject> {
    const models = await this.list()
    try {
      return requireModel(models, id)
    } catch (error) {
      throw toPrivatemodeError(error)
    }
  }
}
