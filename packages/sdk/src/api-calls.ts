/** Makes calls of the public API for the typed clients: JSON in, JSON or a stream of events out. */
import { ApiError } from '@privatemode/protocol/api'
import { decodeText, encodeText } from '@privatemode/protocol/envelope'
import { ApiStream } from './api-stream.ts'
import type { PrivateClient } from './client.ts'
import { errorOfAnswer, toPrivatemodeError } from './privatemode-error.ts'
import { type Receipt, ReceiptedAnswer } from './receipted-answer.ts'
import type { Call } from './sealed-exchange.ts'

export type CallOptions = {
  /** Stops the call, and with it the generation. */
  readonly signal?: AbortSignal
}

/** One answer: its body, and what the worker signed about it. */
export type ApiResult<T> = {
  readonly data: T
  readonly requestId: string
  /** Verified when asked for: the signature, and the digests of request and response. */
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
    // No cause: the platform's message would quote the answer.
    throw toPrivatemodeError(new ApiError('upstream_error', 'the answer is not JSON'))
  }
}
