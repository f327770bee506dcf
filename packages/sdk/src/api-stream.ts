/** A streamed answer as an async iterable of events; to stop reading is to stop the generation. */
import { ApiError, SseDecoder, SseError, type SseEvent } from '@privatemode/protocol/api'
import { errorOfAnswer, toPrivatemodeError } from './privatemode-error.ts'
import type { Receipt, ReceiptedAnswer } from './receipted-answer.ts'

/** A streamed answer: iterate over it to get its events. Leaving the loop stops the generation. */
export class ApiStream<T> implements AsyncIterable<T> {
  readonly #answer: ReceiptedAnswer
  #taken = false

  constructor(answer: ReceiptedAnswer) {
    this.#answer = answer
  }

  get requestId(): string {
    return this.#answer.requestId
  }

  /** Resolves with the verified receipt once the stream has been read to its authenticated end. */
  receipt(): Promise<Receipt> {
    return this.#answer.receipt()
  }

  /** Stops the generation, as leaving the loop does. */
  cancel(): Promise<void> {
    return this.#answer.cancel()
  }

  /** Can only be iterated once. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    if (this.#taken) throw new TypeError('a stream can only be read once')
    this.#taken = true
    const decoder = new SseDecoder()
    let ended = false
    try {
      for (;;) {
        const pieces = await this.#answer.next()
        if (pieces === undefined) break
        for (const piece of pieces) {
          for (const event of decoder.push(piece)) {
            const value = this.#read(event)
            if (value !== undefined) yield value
          }
        }
      }
      ended = true
      if (decoder.pending) throw new ApiError('upstream_error', 'the last event is incomplete')
    } catch (error) {
      throw toPrivatemodeError(error instanceof SseError ? tooLarge(error) : error, this.requestId)
    } finally {
      if (!ended) await this.#answer.cancel()
    }
  }

  #read({ event, data }: SseEvent): T | undefined {
    if (data === '' || data === '[DONE]') return undefined
    let value: { readonly error?: unknown } | null
    try {
      value = JSON.parse(data)
    } catch {
      // No `cause`: the platform's message would quote the answer.
      throw new ApiError('upstream_error', 'an event of the stream is not JSON')
    }
    if (event === 'error' || (value !== null && value.error !== undefined)) {
      throw errorOfAnswer(500, {}, data, this.requestId)
    }
    return value as T
  }
}

const tooLarge = (cause: SseError) =>
  new ApiError('answer_too_large', `an ${cause.message}`, { cause })
