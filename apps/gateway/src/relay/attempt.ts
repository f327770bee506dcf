/** One attempt of a request with one worker: its answer is streamed to the client. */
import {
  type Failure,
  type ForwardEnd,
  ForwardedAnswer,
  type ForwardOwner,
  type HttpExchange,
  type ResponseHead,
} from '@privatemode/http'
import { type ApiError, parseRelayError } from '@privatemode/protocol/api'
import { sealedMediaType } from '@privatemode/protocol/fleet'
import type { ViewedWorker } from '../registry/worker-view.ts'

/** The outcome of the attempt before any byte reached the client. */
export type Outcome =
  | { readonly kind: 'begun' }
  | { readonly kind: 'gone'; readonly mayBeSent: boolean }
  | { readonly kind: 'silent'; readonly failure: Failure; readonly mayBeSent: boolean }
  | { readonly kind: 'refused'; readonly error: ApiError }

/** Follows the progress of an attempt. */
export interface AttemptOwner {
  /** Header lines to add to the answer. */
  readonly answerFields: string
  /** Called once: whether the client is being answered, or why not. */
  decided(attempt: Attempt, outcome: Outcome): void
  /** Called once after `begun`, with the number of bytes sent to the client. */
  ended(attempt: Attempt, end: ForwardEnd, bytes: number): void
}

const begun: Outcome = { kind: 'begun' }

export class Attempt implements ForwardOwner {
  readonly entry: ViewedWorker
  /** The client side of the worker's answer. */
  readonly answer: ForwardedAnswer
  readonly #owner: AttemptOwner

  constructor(owner: AttemptOwner, exchange: HttpExchange, entry: ViewedWorker) {
    this.#owner = owner
    this.entry = entry
    this.answer = new ForwardedAnswer(exchange, this)
  }

  accept(head: ResponseHead): string | undefined {
    if (head.status !== 200 || head.fields.get('content-type') !== sealedMediaType) return undefined
    return `${answerStart}${this.#owner.answerFields}`
  }

  begun(): void {
    this.#owner.decided(this, begun)
  }

  ended(end: ForwardEnd, bytes: number): void {
    this.#owner.ended(this, end, bytes)
  }

  refused({ status, fields }: ResponseHead, body: string): void {
    const error = parseRelayError(status, body, fields.get('retry-after'))
    this.#owner.decided(this, { kind: 'refused', error })
  }

  failed(failure: Failure | 'gone', mayBeSent: boolean): void {
    this.#owner.decided(
      this,
      failure === 'gone' ? { kind: 'gone', mayBeSent } : { kind: 'silent', failure, mayBeSent },
    )
  }
}

const answerStart = `HTTP/1.1 200 OK\r\ncontent-type: ${sealedMediaType}\r\naccess-control-allow-origin: *\r\n`
