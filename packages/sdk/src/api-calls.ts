/** Makes public API calls for the typed clients: JSON in, JSON or an event stream out. */
import { ApiError } from '@privatemode/protocol/api'
import { decodeText, encodeText } from '@privatemode/protocol/envelope'
import { ApiStream } from './api-stream.ts'
import type { PrivateClient } from './client.ts'
import { errorOfAnswer, toPrivatemodeError } from './privatemode-error.ts'
import { type Receipt, ReceiptedAnswer } from './receipted-answer.ts'
import type { Call } from './sealed-exchange.ts'

/** Options of a single call. */
export type CallOptions = {
  /** Aborts the call and stops the generation. */
  readonly signal?: AbortSignal
}

/** The body of one answer, and what the worker signed about it. */
export type ApiResult<T> = {
  readonly data: T
  readonly requestId: string
  /** Verifies the receipt on demand: the signature, and the digests of request and response. */
  receipt(): Promise<Receipt>
}

type Body = { readonly model: string; readonly cache_salt?: string }

export class ApiCalls {
  readonly #client: PrivateClient
  readonly #apiKey: string
  readonly #defaultSalt: string | undefined

  constructor(client: PrivateClient, apiKey: string, defaultSalt: string | undefined) {
    this.#client = client
    this.#apiKey = apiKey
    this.#defaultSalt = defaultSalt
  }

  async whole<T>(path: string, body: Body, options: CallOptions = {}): Promise<ApiResult<T>> {
    const answer = await this.#ask(path, body, false, options)
    const data = parseJson(await wholeText(answer)) as T
    return { data, requestId: answer.requestId, receipt: () => answer.receipt() }
  }

  async stream<T>(path: string, body: Body, options: CallOptions = {}): Promise<ApiStream<T>> {
    const answer = await this.#ask(path, { ...body, stream: true } as Body, true, options)
    return new ApiStream<T>(answer)
  }

  async #ask(
    path: string,
    body: Body,
    stream: boolean,
    { signal }: CallOptions,
  ): Promise<ReceiptedAnswer> {
    signal?.throwIfAborted()
    const call: Call = {
      path,
      model: body.model,
      body: encodeText(JSON.stringify(body)),
      stream,
      apiKey: this.#apiKey,
      cacheSalt: body.cache_salt,
      defaultSalt: this.#defaultSalt,
    }
    try {
      const answer = new ReceiptedAnswer(await this.#client.exchange(call, signal), call)
      const { status, headers } = answer.head
      if (status < 400) return answer
      throw errorOfAnswer(status, headers, await wholeText(answer), answer.requestId)
    } catch (error) {
      throw toPrivatemodeError(error)
    }
  }
}

async function wholeText(answer: ReceiptedAnswer): Promise<string> {
  try {
    return decodeText(await answer.whole())
  } catch (error) {
    throw toPrivatemodeError(error, answer.requestId)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // No `cause`: the platform's message would quote the answer.
    throw toPrivatemodeError(new ApiError('upstream_error', 'the answer is not JSON'))
  }
}
