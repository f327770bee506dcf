/**
 * Forwards an answer to a client at the client's pace; an answer that is not accepted is read as an
 * error.
 */
import { type ByteRange, viewOf } from './byte-range.ts'
import { ErrorBody } from './error-body.ts'
import type { HttpExchange } from './http-exchange.ts'
import { releaseBytes } from './release-bytes.ts'
import type { ResponseHead } from './response-head.ts'
import type { AnswerSink, Failure, UpstreamConnection } from './upstream-connection.ts'

export type ForwardEnd = 'complete' | 'aborted' | 'broken'

export interface ForwardOwner {
  /**
   * Status line and fields to answer with, each terminated by CRLF; body framing is added.
   * Undefined if the answer must not be forwarded.
   */
  accept(head: ResponseHead): string | undefined
  /** The first bytes are on their way to the client. */
  begun(): void
  /** Called once after `begun`, with the bytes that went to the client. */
  ended(end: ForwardEnd, bytes: number): void
  /** The answer was not accepted; an empty body may have been too long. */
  refused(head: ResponseHead, body: string): void
  /**
   * No answer arrived, or the client disconnected first. `mayBeSent` is false if there never was a
   * connection: then the server has seen no byte of the request.
   */
  failed(failure: Failure | 'gone', mayBeSent: boolean): void
}

export class ForwardedAnswer implements AnswerSink {
  readonly #exchange: HttpExchange
  readonly #owner: ForwardOwner
  #connection: UpstreamConnection | undefined
  #state: 'waiting' | 'refusal' | 'streaming' | 'over' = 'waiting'
  #start: string | undefined
  #bytes = 0
  #refusal: { readonly head: ResponseHead; readonly body: ErrorBody } | undefined

  constructor(exchange: HttpExchange, owner: ForwardOwner) {
    this.#exchange = exchange
    this.#owner = owner
    exchange.onGone = () => this.#gone()
  }

  connected(connection: UpstreamConnection): boolean {
    this.#connection = connection
    return this.#state === 'waiting'
  }

  /** An accepted answer keeps its framing towards the client: nothing is unwrapped or reassembled. */
  passesThrough(head: ResponseHead): boolean {
    this.#start = this.#owner.accept(head)
    return this.#start !== undefined
  }

  head(head: ResponseHead, body: readonly ByteRange[], ended: boolean): void {
    if (this.#start === undefined) {
      this.#state = 'refusal'
      this.#refusal = { head, body: new ErrorBody() }
      this.#readRefusal(body, ended)
      return
    }
    this.#state = 'streaming'
    const [first] = body
    if (first !== undefined) this.#bytes = first.end - first.start
    const length =
      head.framing === 'chunked' ? 'transfer-encoding: chunked' : `content-length: ${head.framing}`
    const open = this.#exchange.begin(`${this.#start}${length}\r\n`, first)
    this.#owner.begun()
    this.#afterWrite(body, open, ended)
  }

  data(body: readonly ByteRange[], ended: boolean): void {
    if (this.#state === 'refusal') {
      this.#readRefusal(body, ended)
      return
    }
    let open = true
    for (const range of body) {
      this.#bytes += range.end - range.start
      open = this.#exchange.write(viewOf(range))
    }
    this.#afterWrite(body, open, ended)
  }

  fail(failure: Failure): void {
    switch (this.#state) {
      case 'waiting':
      case 'refusal':
        this.#state = 'over'
        this.#owner.failed(failure, this.#connection !== undefined)
        return
      case 'streaming':
        this.#state = 'over'
        // The client must not mistake what it has for a complete answer.
        this.#exchange.cut()
        this.#owner.ended('broken', this.#bytes)
        return
      case 'over':
        return
    }
  }

  /** The client disconnected: aborts the request. */
  #gone(): void {
    const before = this.#state
    this.#state = 'over'
    if (before === 'over') return
    this.#connection?.abandon()
    if (before === 'streaming') this.#owner.ended('aborted', this.#bytes)
    else this.#owner.failed('gone', this.#connection !== undefined)
  }

  /** Backpressure: reads no more from the server until the client has consumed what is here. */
  #afterWrite(body: readonly ByteRange[], open: boolean, ended: boolean): void {
    // What the socket did not accept is still needed.
    if (open) for (const { bytes } of body) releaseBytes(bytes)
    if (ended) {
      this.#state = 'over'
      this.#exchange.finish()
      this.#owner.ended('complete', this.#bytes)
    } else if (!open) {
      this.#connection?.pause()
      this.#exchange.whenDrained(() => this.#connection?.resume())
    }
  }

  #readRefusal(body: readonly ByteRange[], ended: boolean): void {
    const refusal = this.#refusal
    const text = refusal?.body.add(body, ended)
    if (refusal === undefined || text === undefined) return
    this.#state = 'over'
    if (!ended) this.#connection?.abandon()
    this.#owner.refused(refusal.head, text)
  }
}
