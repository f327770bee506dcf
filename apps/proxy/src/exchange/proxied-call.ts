/** Drives a sealed exchange over sockets: sends, opens, forwards. The hot path: callbacks, no promises. */
import {
  type AnswerSink,
  type ByteRange,
  ErrorBody,
  type Failure,
  type HttpExchange,
  type ResponseHead,
  releaseBehind,
  releaseBytes,
  releaseOwnBytes,
  type UpstreamConnection,
  viewOf,
  whenReady,
} from '@privatemode/http'
import { ApiError, type Dialect } from '@privatemode/protocol/api'
import { type Call, isSealedAnswer, type SealedCall, type SealedExchange } from '@privatemode/sdk'
import { describeError } from '@privatemode/service'
import type { App } from '../app-state.ts'
import { pickInward } from '../inbound/outward-headers.ts'
import type { RequestRecord } from '../inbound/request-record.ts'
import type { AnswerTimeout } from './answer-timeouts.ts'
import { type AnswerWriter, createEventWriter, createWholeWriter } from './answer-writer.ts'
import { toApiError } from './api-error.ts'
import type { Drain } from './padding-drains.ts'
import { createShapedWriter } from './shaped-writer.ts'

export type ProxiedParts = {
  readonly app: App
  readonly exchange: HttpExchange
  readonly dialect: Dialect
  readonly record: RequestRecord
  readonly call: Call
  /** Answers with an error; nothing has been sent yet. */
  readonly answerError: (error: unknown) => void
}

/** Time limit for an answer's first byte; retrying would not make a long prefill faster. */
const answerWithinMs = 600_000
/**
 * A client that disconnects may have read the last event while the answer's end is still on its way
 * to us. If the end arrives within this time, the padding is drained as if the client had stayed;
 * otherwise the generation is stopped.
 */
const lingerMs = 250

export class ProxiedCall implements AnswerSink {
  readonly #parts: ProxiedParts
  readonly #sealing: SealedExchange
  #sealed: SealedCall | undefined
  #connection: UpstreamConnection | undefined
  #refusal: { readonly head: ResponseHead; readonly body: ErrorBody } | undefined
  #writer: AnswerWriter | undefined
  #opened: Uint8Array[] = []
  #authenticBytes = 0
  #passedBytes = 0
  #isWhole = false
  #hasHead = false
  #beginning: Timer | undefined
  #over = false
  #lingering: Timer | undefined
  #drain: Drain | undefined
  #timeout: AnswerTimeout | undefined

  constructor(parts: ProxiedParts) {
    this.#parts = parts
    this.#sealing = parts.app.client.begin(parts.call, true)
    parts.exchange.onGone = () => this.#clientGone()
    const { app, call, record } = parts
    if (app.leg === undefined || !call.stream) return
    const dueMs = record.startedMs + app.leg.beginAfterMs - performance.now()
    // Timers may be a moment early.
    this.#beginning = setTimeout(() => this.#beginUnknown(), Math.max(0, Math.ceil(dueMs) + 1))
  }

  start(): void {
    if (this.#over) return
    this.#refusal = undefined
    this.#authenticBytes = 0
    this.#passedBytes = 0
    whenReady(
      this.#prepare(),
      (sealed) => this.#send(sealed),
      (error) => this.#fail(error),
    )
  }

  head(head: ResponseHead, body: readonly ByteRange[], ended: boolean): void {
    if (!ended) this.#timeout = this.#parts.app.answers.start((error) => this.#cut(error))
    if (!isSealedAnswer(head.status, head.fields.get('content-type'))) {
      this.#refusal = { head, body: new ErrorBody() }
    }
    this.data(body, ended)
  }

  data(body: readonly ByteRange[], ended: boolean): void {
    if (this.#refusal === undefined) this.#take(body, ended)
    else this.#readRefusal(this.#refusal, body, ended)
  }

  fail(failure: Failure): void {
    if (failure === 'timeout')
      this.#fail(new ApiError('timeout', 'the backend did not answer in time'))
    else this.#fail(new ApiError('worker_unreachable', 'the connection to the backend broke'))
  }

  #prepare(): SealedCall | Promise<SealedCall> {
    try {
      return this.#sealing.prepare()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #send(sealed: SealedCall): void {
    if (this.#over) return
    const { app, record } = this.#parts
    this.#sealed = sealed
    // A stream that has begun keeps the id that its client has.
    if (this.#writer === undefined) record.requestId = sealed.requestId
    else record.sealedRequestId = sealed.requestId
    whenReady(
      app.backend.take(),
      (connection) => {
        if (this.#over) return connection.abandon()
        this.#connection = connection
        connection.send(app.formatMessage(sealed), this, performance.now() + answerWithinMs)
        this.#sendRest(connection, sealed.request)
      },
      (error) => this.#fail(error),
    )
  }

  /** Seals and sends the remaining frames, at the pace at which the backend accepts them. */
  #sendRest(connection: UpstreamConnection, request: SealedCall['request']): void {
    // An answer that arrives before everything was sent ends the connection.
    while (!connection.dead && !this.#over) {
      const frame = request.next()
      if (frame === undefined) return
      if (frame instanceof Promise) throw new TypeError('the native provider answers at once')
      const taken = connection.writePieces(frame)
      for (const piece of frame) releaseOwnBytes(piece)
      if (taken) continue
      connection.whenDrained(() => this.#sendRest(connection, request))
      return
    }
  }

  /** Opens the received bytes and forwards them; anything that cannot be opened ends the answer. */
  #take(body: readonly ByteRange[], ended: boolean): void {
    if (this.#over) {
      if (this.#drain !== undefined) this.#openReceipt(body)
      if (ended) this.#drain?.end()
      else this.#drain?.read(sizeOf(body))
      release(body)
      return
    }
    try {
      for (const range of body) this.#open(viewOf(range))
      if (ended) this.#sealing.finish()
    } catch (error) {
      if (!ended) this.#connection?.abandon() // after its answer ended, it may already serve another request
      this.#fail(error)
      return
    }
    // The opened bytes have their own memory.
    if (this.#sealed?.request.opener.holdsBytes === false) release(body)
    if (this.#lingering === undefined) this.#passOnOrFail(ended)
    else if (ended || this.#isWhole) this.#leaveWhole(ended)
    else this.#discard()
  }

  #passOnOrFail(ended: boolean): void {
    try {
      this.#passOn(ended)
    } catch (error) {
      if (!ended) this.#connection?.abandon() // longer than the proxy buffers
      this.#isWhole = false // it cannot be passed on
      this.#fail(error)
    }
  }

  #open(bytes: Buffer): void {
    if (bytes.length === 0) return
    const parts = this.#sealing.step(bytes as Buffer<ArrayBuffer>)
    if (parts instanceof Promise) throw new TypeError('the native provider answers at once')
    for (const part of parts) {
      if (part.kind === 'data') this.#opened.push(part.bytes)
      else if (part.kind === 'head') this.#takeHead(part.head.status, part.head.headers)
      else if (part.kind === 'whole') this.#isWhole = true
      else this.#parts.app.receipts?.add(part.receipt)
    }
  }

  /** The receipt comes after the padding, when the application already has its answer. */
  #openReceipt(body: readonly ByteRange[]): void {
    const opener = this.#sealed?.request.opener
    if (this.#parts.app.receipts === undefined || opener === undefined) return
    try {
      // Frames are assembled from parts, which must not be released with the rest.
      for (const range of body) this.#open(Buffer.from(viewOf(range)))
    } catch {
      // The answer was complete and authenticated; only its receipt is lost.
    }
  }

  #takeHead(status: number, headers: Readonly<Record<string, string>>): void {
    this.#hasHead = true
    this.#parts.record.model = this.#parts.call.model
    if (this.#writer === undefined) this.#begin(status, headers)
    else if (status !== 200) {
      this.#parts.record.status = status
      this.#writer.turnToError?.()
    }
  }

  /** A shaped stream does not wait for its head longer than others do: the wait would show. */
  #beginUnknown(): void {
    if (this.#over || this.#writer !== undefined || this.#lingering !== undefined) return
    this.#begin(200, eventHeaders)
    this.#passOn(false)
  }

  #begin(status: number, given: Readonly<Record<string, string>>): void {
    clearTimeout(this.#beginning)
    const { app, record, call, exchange, dialect } = this.#parts
    record.status = status
    const headers = pickInward(given)
    headers['x-request-id'] = record.requestId
    headers['request-id'] = record.requestId
    if (app.everyHeader !== undefined) Object.assign(headers, app.everyHeader)
    const parts = { app, exchange, dialect, record, headers }
    const isEvents = headers['content-type']?.startsWith('text/event-stream') === true
    if (isEvents) {
      headers['cache-control'] = 'no-cache'
      headers['x-accel-buffering'] = 'no'
    }
    // An error in place of a stream is shaped, too.
    if (app.leg !== undefined && (isEvents || call.stream)) {
      this.#writer = createShapedWriter(parts, app.leg)
    } else this.#writer = isEvents ? createEventWriter(parts) : createWholeWriter(parts)
  }

  #passOn(ended: boolean): void {
    const { exchange } = this.#parts
    const writer = this.#writer
    const allBytes = this.#sealed?.request.opener.openedBytes ?? 0
    if (allBytes > this.#authenticBytes) this.#timeout?.progress()
    this.#authenticBytes = allBytes
    if (writer === undefined) return
    // Padding before the head is forwarded, too, once there is a writer.
    const openedBytes = allBytes - this.#passedBytes
    this.#passedBytes = allBytes
    const pieces = this.#opened
    this.#opened = []
    // Padding may still arrive after the whole answer; the application need not wait for it.
    if (ended || (this.#isWhole && writer.mayEnd())) {
      writer.end(pieces, openedBytes)
      this.#leaveWhole(ended)
    } else if (!writer.write(pieces, openedBytes)) {
      // Backpressure: the client's pace sets the worker's.
      this.#connection?.pause()
      this.#timeout?.pause()
      exchange.whenDrained(() => {
        this.#timeout?.progress()
        this.#connection?.resume()
      })
    }
  }

  /** The whole answer arrived; unless its transfer has ended, too, padding follows. */
  #leaveWhole(ended: boolean): void {
    clearTimeout(this.#lingering)
    this.#discard()
    this.#leave()
    const { app, record } = this.#parts
    if (!ended && this.#connection !== undefined) {
      this.#drain = app.drains.begin(this.#connection)
    }
    record.close('complete', undefined, app.log, app.metrics)
  }

  #discard(): void {
    for (const piece of this.#opened) releaseBehind(piece)
    this.#opened = []
  }

  #readRefusal(
    { head, body }: { readonly head: ResponseHead; readonly body: ErrorBody },
    payload: readonly ByteRange[],
    ended: boolean,
  ): void {
    if (this.#over) return
    const text = body.add(payload, ended)
    if (text === undefined) return
    if (!ended) this.#connection?.abandon()
    const { status, fields } = head
    this.#fail(this.#sealing.refused(status, text, fields.get('retry-after')))
  }

  /**
   * Retries if no byte of an answer has arrived and it can help; otherwise reports the error to the
   * client.
   */
  #fail(error: unknown): void {
    if (this.#over) {
      this.#drain?.end()
      return
    }
    if (this.#lingering !== undefined) {
      this.#giveUp()
      return
    }
    if (this.#isWhole && this.#writer !== undefined) {
      // Only padding was lost. The last of the answer may have arrived with it, and waits here.
      this.#passOnOrFail(true)
      return
    }
    const shown = toApiError(error)
    const pauseMs = this.#hasHead ? undefined : this.#sealing.pauseAfter(shown)
    if (pauseMs !== undefined) {
      this.#timeout?.end()
      setTimeout(() => this.start(), pauseMs)
      return
    }
    this.#leave()
    const { app, record, answerError } = this.#parts
    if (this.#writer === undefined || !this.#writer.lose(shown)) {
      answerError(error)
      return
    }
    app.log.debug('stream lost', { requestId: record.requestId, ...describeError(error) })
    record.close('failed', shown.code, app.log, app.metrics)
  }

  /** Nothing is sent or retried from here on: neither the prompt nor its sealed frame is needed. */
  #leave(): void {
    this.#over = true
    clearTimeout(this.#beginning)
    this.#timeout?.end()
    releaseBytes(this.#parts.call.body)
    for (const piece of this.#sealed?.request.frame ?? []) releaseOwnBytes(piece)
  }

  /** The backend did not send the rest of its answer in time. */
  #cut(error: ApiError): void {
    this.#connection?.abandon()
    this.#fail(error)
  }

  #clientGone(): void {
    if (this.#over) return
    this.#writer?.drop()
    const { app, call } = this.#parts
    // In the strict shape, clients see the end with the end of the padding: leaving earlier is an abort.
    const mayHaveAll = call.stream && app.shape === 'default' && this.#writer !== undefined
    if (!mayHaveAll) {
      this.#giveUp()
      return
    }
    this.#connection?.resume()
    this.#lingering = setTimeout(() => this.#giveUp(), lingerMs)
    if (this.#isWhole) this.#leaveWhole(false)
  }

  /** Stops the generation. */
  #giveUp(): void {
    if (this.#over) return
    clearTimeout(this.#lingering)
    this.#leave()
    this.#connection?.abandon()
    const { app, record } = this.#parts
    record.status = 499
    record.close('aborted', 'client_gone', app.log, app.metrics)
  }
}

const eventHeaders = { 'content-type': 'text/event-stream; charset=utf-8' }

/** Releases the memory read from the socket; ranges of one read share it. */
function release(body: readonly ByteRange[]): void {
  for (const { bytes } of body) releaseBytes(bytes)
}

function sizeOf(body: readonly ByteRange[]): number {
  let size = 0
  for (const { start, end } of body) size += end - start
  return size
}
