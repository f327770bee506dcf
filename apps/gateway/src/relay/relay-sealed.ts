/** `POST /privatemode/v1/sealed`: key, quota, choice of a worker, bytes through. */

import { ApiError } from '@privatemode/protocol/api'
import {
  type Exchange,
  emptySpan,
  type Span,
  type UpstreamConnection,
  whenReady,
} from '@privatemode/service/http'
import { bearerOf } from '../http/bearer.ts'
import type { Caller } from '../keys/key-check.ts'
import type { Permit } from '../limits/limiter.ts'
import type { ViewedWorker } from '../registry/worker-view.ts'
import { Attempt, type Outcome, type StreamEnd } from './attempt.ts'
import { findCandidates } from './find-candidates.ts'
import type { RelayParts } from './relay-parts.ts'
import { readSealedRequest, type SealedRequest, sealedContentType } from './sealed-request.ts'
import { streamBody } from './stream-body.ts'

/** Called once: without an error when the exchange is over, else with what to answer. */
export type RelayDone = (error?: unknown) => void

export function relaySealed(exchange: Exchange, parts: RelayParts, done: RelayDone): void {
  new Relay(exchange, parts, done).start()
}

/** One request on its way, by callbacks rather than promises: this is the gateway's whole work. */
class Relay {
  readonly #exchange: Exchange
  readonly #parts: RelayParts
  readonly #done: RelayDone
  readonly #startedMs: number
  #sealed!: SealedRequest
  #caller!: Caller
  #permit: Permit | undefined
  #candidates: readonly ViewedWorker[] = []
  #body: Span | undefined
  #heldBytes = 0
  #attempts = 0
  #firstByteMs = 0
  #failure: ApiError | undefined

  constructor(exchange: Exchange, parts: RelayParts, done: RelayDone) {
    this.#exchange = exchange
    this.#parts = parts
    this.#done = done
    this.#startedMs = parts.clock()
  }

  start(): void {
    try {
      const bearer = bearerOf(this.#exchange.head.fields.get('authorization'))
      whenReady(this.#parts.keys.check(bearer), this.#readHead, this.#fail)
    } catch (error) {
      this.#fail(error)
    }
  }

  readonly #fail = (error?: unknown): void => {
    this.#release()
    this.#permit?.end()
    this.#done(error)
  }

  readonly #readHead = (caller: Caller): void => {
    const { bodies } = this.#parts
    this.#caller = caller
    this.#sealed = readSealedRequest(this.#exchange.head)
    const { lengthBytes } = this.#sealed
    if (lengthBytes > bodies.limits.maxBytes) {
      const most = `a sealed request has at most ${bodies.limits.maxBytes} bytes`
      throw new ApiError('request_too_large', most)
    }
    this.#candidates = findCandidates(this.#sealed, this.#parts)
    const admitted = this.#parts.limiter.admit({ caller, path: this.#sealed.path, lengthBytes })
    whenReady(admitted, this.#readBody, this.#fail)
  }

  readonly #readBody = (permit: Permit): void => {
    const { bodies } = this.#parts
    const { lengthBytes } = this.#sealed
    this.#permit = permit
    this.#exchange.invite()
    if (bodies.hold(lengthBytes)) {
      this.#heldBytes = lengthBytes
      whenReady(this.#exchange.body.whole(lengthBytes), this.#send, this.#fail)
    } else {
      // Too long to be held: it goes to one worker as it comes.
      this.#candidates = this.#candidates.slice(0, 1)
      this.#askNext()
    }
  }

  readonly #send = (body: Span): void => {
    this.#body = body
    this.#askNext()
  }

  /** Asks the next candidate; without one the last failure is the answer. */
  #askNext(): void {
    const entry = this.#candidates[this.#attempts]
    if (entry === undefined || this.#attempts >= this.#parts.limits.attempts) {
      const none = new ApiError('no_worker', 'no worker takes requests', { retryAfterSeconds: 1 })
      this.#fail(this.#failure ?? none)
      return
    }
    this.#attempts++
    const end = this.#parts.view.begin(entry)
    this.#use(entry, this.#parts.pool.take(entry.worker.url), end)
  }

  #use(
    entry: ViewedWorker,
    taken: UpstreamConnection | Promise<UpstreamConnection>,
    end: () => void,
  ): void {
    whenReady(
      taken,
      (connection) => this.#ask(entry, connection, end),
      () => this.#decide(entry, { kind: 'silent', failure: 'unreachable' }, end),
    )
  }

  #ask(entry: ViewedWorker, connection: UpstreamConnection, end: () => void): void {
    if (this.#exchange.over) {
      connection.abandon()
      this.#decide(entry, { kind: 'gone' }, end)
      return
    }
    const reused = connection.answers > 0
    const sink = new Attempt(this.#exchange, connection, this.#permit?.fields ?? '', {
      decided: (outcome) => {
        // A worker may close an idle connection just as it is used: that says nothing about it.
        const stale = reused && outcome.kind === 'silent' && outcome.failure === 'unreachable'
        if (stale && this.#body !== undefined) {
          this.#use(entry, this.#parts.pool.connect(entry.worker.url), end)
        } else this.#decide(entry, outcome, end)
      },
      ended: (outcome, bytesOut) => {
        end()
        this.#permit?.end()
        this.#report(entry, outcome, bytesOut)
        this.#done()
      },
    })
    const message = {
      head: this.#workerHead(entry),
      body: this.#body ?? emptySpan,
      lengthBytes: this.#sealed.lengthBytes,
    }
    connection.send(message, sink, this.#parts.clock() + this.#parts.limits.firstByteTimeoutMs)
    if (this.#body === undefined) streamBody(this.#exchange.body, connection)
  }

  #decide(entry: ViewedWorker, outcome: Outcome, end: () => void): void {
    if (outcome.kind !== 'begun') end()
    switch (outcome.kind) {
      case 'begun':
        this.#firstByteMs = this.#parts.clock() - this.#startedMs
        this.#release()
        return
      case 'gone':
        this.#fail()
        return
      case 'silent':
        this.#parts.view.suspect(entry)
        this.#failure = silence(entry, outcome.failure === 'timeout')
        break
      case 'refused':
        this.#failure = outcome.error
        if (outcome.error.status !== 503) {
          this.#fail(outcome.error)
          return
        }
    }
    this.#askNext()
  }

  /** The body is needed no longer. */
  #release(): void {
    this.#parts.bodies.release(this.#heldBytes)
    this.#heldBytes = 0
    this.#body = undefined
  }

  /** Until the worker has reported, all that is known of the cost is that there was a request. */
  #report(entry: ViewedWorker, outcome: StreamEnd, bytesOut: number): void {
    const elapsedMs = Math.round(this.#parts.clock() - this.#startedMs)
    this.#parts.expected.expect({
      requestId: this.#sealed.requestId,
      workerId: entry.worker.id,
      keyId: this.#caller.keyId,
      model: this.#sealed.model,
      path: this.#sealed.path,
      status: 200,
      outcome: 'lost',
      promptTokens: 0,
      cachedTokens: 0,
      completionTokens: 0,
      startedAtMs: Date.now() - elapsedMs,
      durationMs: elapsedMs,
    })
    this.#count(outcome, bytesOut, elapsedMs)
    this.#parts.log.debug('relayed', {
      requestId: this.#sealed.requestId,
      keyRef: this.#caller.keyId,
      model: this.#sealed.model,
      route: this.#sealed.path,
      worker: entry.worker.id,
      attempts: this.#attempts,
      outcome,
      bytesIn: this.#sealed.lengthBytes,
      bytesOut,
      firstByteMs: Math.round(this.#firstByteMs),
      elapsedMs,
    })
  }

  #count(outcome: StreamEnd, bytesOut: number, elapsedMs: number): void {
    const { metrics } = this.#parts
    metrics.relayed.add(1, { model: this.#sealed.model, outcome })
    metrics.relayedBytes.add(bytesOut)
    metrics.firstByteSeconds.observe(this.#firstByteMs / 1000)
    metrics.durationSeconds.observe(elapsedMs / 1000)
    if (this.#attempts > 1) metrics.retries.add(1)
  }

  /** Only this leaves for a worker: it never sees the API key or any other header. */
  #workerHead({ worker }: ViewedWorker): string {
    const { requestId, model, path, lengthBytes } = this.#sealed
    return (
      `POST /privatemode/v1/sealed HTTP/1.1\r\nhost: ${worker.url.slice(worker.url.indexOf('//') + 2)}\r\n` +
      `content-type: ${sealedContentType}\r\ncontent-length: ${lengthBytes}\r\n` +
      `privatemode-request-id: ${requestId}\r\nprivatemode-model: ${model}\r\n` +
      `privatemode-path: ${path}\r\nprivatemode-key-ref: ${this.#caller.keyId}\r\n\r\n`
    )
  }
}

function silence({ worker }: ViewedWorker, late: boolean): ApiError {
  return late
    ? new ApiError('timeout', `worker ${worker.id} did not begin to answer in time`)
    : new ApiError('worker_unreachable', `worker ${worker.id} cannot be reached`)
}
