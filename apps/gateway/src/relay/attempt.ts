/** One try of a request with one worker: its answer goes to the client as it comes. */
import {
  type AnswerSink,
  type ByteRange,
  ChunkedScanner,
  type Failure,
  type HttpExchange,
  type ResponseHead,
  type UpstreamConnection,
  viewOf,
} from '@privatemode/http'
import { type ApiError, parseRelayError } from '@privatemode/protocol/api'
import { sealedMediaType } from '@privatemode/protocol/fleet'
import type { ViewedWorker } from '../registry/worker-view.ts'

export type StreamEnd = 'complete' | 'aborted' | 'broken'

/** What came of the try before any byte reached the client. */
export type Outcome =
  | { readonly kind: 'begun' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'silent'; readonly failure: Failure }
  | { readonly kind: 'refused'; readonly error: ApiError }

/** Who wants to know how a try goes. */
export interface AttemptOwner {
  /** Header lines to put into the answer. */
  readonly answerFields: string
  /** Called once: whether the client is being answered, or why not. */
  decided(attempt: Attempt, outcome: Outcome): void
  /** Called once after `begun`, with the bytes that went to the client. */
  ended(attempt: Attempt, end: StreamEnd, bytes: number): void
}

const begun: Outcome = { kind: 'begun' }
const maxErrorBytes = 64 * 1024

export class Attempt implements AnswerSink {
  readonly entry: ViewedWorker
  /** Whether the connection had been idle: the worker may just have closed it. */
  readonly reused: boolean
  readonly #exchange: HttpExchange
  readonly #connection: UpstreamConnection
  readonly #owner: AttemptOwner
  #state: 'waiting' | 'refusal' | 'streaming' | 'over' = 'waiting'
  #bytes = 0
  #refusal: { head: ResponseHead; parts: Buffer[]; bytes: number } | undefined

  constructor(
    owner: AttemptOwner,
    exchange: HttpExchange,
    entry: ViewedWorker,
    connection: UpstreamConnection,
  ) {
    this.#owner = owner
    this.#exchange = exchange
    this.entry = entry
    this.#connection = connection
    this.reused = connection.answers > 0
    exchange.onGone = () => this.#gone()
  }

  head(head: ResponseHead, first: ByteRange, ended: boolean): void {
    if (head.status !== 200 || head.fields.get('content-type') !== sealedMediaType) {
      this.#state = 'refusal'
      this.#refusal = { head, parts: [], bytes: 0 }
      this.#readRefusal(viewOf(first), ended)
      return
    }
    this.#state = 'streaming'
    this.#bytes = first.end - first.start
    const length =
      head.framing === 'chunked' ? 'transfer-encoding: chunked' : `content-length: ${head.framing}`
    const start = `${answerStart}${this.#owner.answerFields}${length}\r\n`
    const open = this.#exchange.begin(start, first)
    this.#owner.decided(this, begun)
    this.#afterWrite(open, ended)
  }

  data(bytes: Buffer, ended: boolean): void {
    if (this.#state === 'refusal') {
      this.#readRefusal(bytes, ended)
      return
    }
    this.#bytes += bytes.length
    this.#afterWrite(this.#exchange.write(bytes), ended)
  }

  fail(failure: Failure): void {
    switch (this.#state) {
      case 'waiting':
      case 'refusal':
        this.#state = 'over'
        this.#owner.decided(this, { kind: 'silent', failure })
        return
      case 'streaming':
        this.#state = 'over'
        // The client must not take what it has for a whole answer.
        this.#exchange.cut()
        this.#owner.ended(this, 'broken', this.#bytes)
        return
      case 'over':
        return
    }
  }

  /** The client went away: so does the request. */
  #gone(): void {
    const before = this.#state
    this.#state = 'over'
    if (before !== 'over') this.#connection.abandon()
    if (before === 'streaming') this.#owner.ended(this, 'aborted', this.#bytes)
    else if (before !== 'over') this.#owner.decided(this, { kind: 'gone' })
  }

  /** The client's pace is the worker's pace: no more is read until the client took what is here. */
  #afterWrite(open: boolean, ended: boolean): void {
    if (ended) {
      this.#state = 'over'
      this.#exchange.finish()
      this.#owner.ended(this, 'complete', this.#bytes)
    } else if (!open) {
      this.#connection.pause()
      this.#exchange.whenDrained(() => this.#connection.resume())
    }
  }

  #readRefusal(bytes: Buffer, ended: boolean): void {
    const refusal = this.#refusal
    if (refusal === undefined) return
    refusal.parts.push(bytes)
    refusal.bytes += bytes.length
    const tooLong = refusal.bytes > maxErrorBytes
    if (!ended && !tooLong) return
    this.#state = 'over'
    if (!ended) this.#connection.abandon()
    const body = tooLong ? '' : bodyText(refusal.head, Buffer.concat(refusal.parts))
    const { status, fields } = refusal.head
    const error = parseRelayError(status, body, fields.get('retry-after'))
    this.#owner.decided(this, { kind: 'refused', error })
  }
}

const answerStart = `HTTP/1.1 200 OK\r\ncontent-type: ${sealedMediaType}\r\naccess-control-allow-origin: *\r\n`

function bodyText(head: ResponseHead, framed: Buffer): string {
  if (head.framing !== 'chunked') return framed.toString('utf8')
  const parts: Buffer[] = []
  new ChunkedScanner().scan(framed, 0, (start, end) => parts.push(framed.subarray(start, end)))
  return Buffer.concat(parts).toString('utf8')
}
