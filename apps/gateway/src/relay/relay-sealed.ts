/** `POST /privatemode/v1/sealed`: checks key and limits, chooses a worker, relays the bytes. */
import {
  type ByteRange,
  emptyRange,
  type ForwardEnd,
  type HttpExchange,
  type UpstreamConnection,
} from '@privatemode/http'
import { ApiError } from '@privatemode/protocol/api'
import { fleetPaths, relayHeaders as names, sealedMediaType } from '@privatemode/protocol/fleet'
import { giveTurn, type OpenSpan } from '@privatemode/service'
import { bearerOf } from '../http/bearer.ts'
import type { Caller } from '../keys/key-check.ts'
import { refuseShare } from '../limits/limit-error.ts'
import type { Permit } from '../limits/limiter.ts'
import { capacityLeft } from '../registry/choose-worker.ts'
import type { ViewedWorker } from '../registry/worker-view.ts'
import { Attempt, type AttemptOwner, type Outcome } from './attempt.ts'
import { findCandidates } from './find-candidates.ts'
import type { RelayDone, RelayParts } from './relay-parts.ts'
import { reportRelayed, traceLine, traceRefused } from './report-relayed.ts'
import { readSealedHead, type SealedHead } from './sealed-head.ts'
import { signRelay } from './sign-relay.ts'
import { streamBody } from './stream-body.ts'

export function relaySealed(exchange: HttpExchange, parts: RelayParts, done: RelayDone): void {
  new Relay(exchange, parts, done).start()
}

/**
 * One request in progress. This is the gateway's main work, so it continues synchronously whenever
 * it can; promises are used only where it has to wait.
 */
class Relay implements AttemptOwner {
  readonly #exchange: HttpExchange
  readonly #parts: RelayParts
  readonly #done: RelayDone
  readonly #startedMs: number
  readonly #span: OpenSpan | undefined
  #sealed: SealedHead | undefined
  #caller: Caller | undefined
  #keyId = ''
  #admissionId = ''
  #permit: Permit | undefined
  #candidates: readonly ViewedWorker[] = []
  #body: ByteRange | undefined
  #heldBytes = 0
  #passed = 0
  #attempts = 0
  /** Workers that may have received the request and did not refuse it: each may report usage. */
  #reporting = 0
  #firstByteMs = 0
  #failure: ApiError | undefined

  constructor(exchange: HttpExchange, parts: RelayParts, done: RelayDone) {
    this.#exchange = exchange
    this.#parts = parts
    this.#done = done
    this.#startedMs = parts.clock()
    this.#span = parts.tracer?.begin(exchange.head.fields.get('traceparent'))
  }

  get answerFields(): string {
    return this.#permit?.fields ?? ''
  }

  start(): void {
    try {
      const bearer = bearerOf(this.#exchange.head.fields.get('authorization'))
      const caller = this.#parts.keys.check(bearer)
      if (caller instanceof Promise) this.#later(caller, (found) => this.#readHead(found))
      else this.#readHead(caller)
    } catch (error) {
      this.#fail(error)
    }
  }

  #later<T>(promise: Promise<T>, next: (value: T) => void): void {
    promise.then(next).catch((error: unknown) => this.#fail(error))
  }

  #fail(error?: unknown): void {
    this.#release()
    this.#leave()
    if (this.#parts.tracer && this.#span) traceRefused(this.#parts.tracer, this.#span, error)
    this.#done(this.#exchange, error)
  }

  #readHead(caller: Caller): void {
    const { bodies, limiter, shares, limits } = this.#parts
    const sealed = readSealedHead(this.#exchange.head)
    if (sealed.lengthBytes > bodies.limits.maxBytes) {
      const most = `a sealed request has at most ${bodies.limits.maxBytes} bytes`
      throw new ApiError('request_too_large', most)
    }
    const left = limits.requests - shares.total
    if (!shares.take(caller.keyId, left, limits.keySharePercent)) throw refuseShare()
    this.#caller = caller
    this.#keyId = caller.keyId
    this.#sealed = sealed
    this.#candidates = findCandidates(sealed, this.#startedMs, this.#parts)
    this.#admissionId = this.#parts.admissions.newId()
    const permit = limiter.admit({
      caller,
      admissionId: this.#admissionId,
      path: sealed.path,
      lengthBytes: sealed.lengthBytes,
      contextTokens: contextOf(this.#candidates, sealed),
    })
    if (permit instanceof Promise) this.#later(permit, (given) => this.#readBody(sealed, given))
    else this.#readBody(sealed, permit)
  }

  #readBody({ lengthBytes }: SealedHead, permit: Permit): void {
    this.#permit = permit
    this.#exchange.invite()
    if (!this.#parts.bodies.hold(lengthBytes)) {
      // Too large to be buffered: it is streamed to a single worker.
      this.#candidates = this.#candidates.slice(0, 1)
      this.#askNext()
      return
    }
    this.#heldBytes = lengthBytes
    const body = this.#exchange.body.whole(lengthBytes)
    if (body instanceof Promise) this.#later(body, (whole) => this.#send(whole))
    else this.#send(body)
  }

  #send(body: ByteRange): void {
    this.#body = body
    this.#askNext()
  }

  /** Tries the next candidate; without one, the last failure is the answer. */
  #askNext(): void {
    const entry = this.#nextWithCapacity()
    if (entry === undefined) {
      const none = new ApiError('no_worker', 'no worker accepts requests', { retryAfterSeconds: 1 })
      this.#fail(this.#failure ?? none)
      return
    }
    // A worker tried before that did not refuse may still report.
    const moved = this.#reporting > 0 ? this.#permit?.moveTo(entry.worker.id) : undefined
    if (moved === undefined) this.#ask(entry)
    else {
      moved.then(
        () => this.#ask(entry),
        (error: unknown) => {
          entry.shares.putBack(this.#keyId)
          this.#fail(error)
        },
      )
    }
  }

  #nextWithCapacity(): ViewedWorker | undefined {
    const { attempts, keySharePercent } = this.#parts.limits
    while (this.#attempts < attempts) {
      const entry = this.#candidates[this.#passed++]
      if (entry === undefined) break
      if (entry.shares.take(this.#keyId, capacityLeft(entry), keySharePercent)) {
        this.#attempts++
        return entry
      }
      this.#failure ??= refuseShare()
    }
    return undefined
  }

  #ask(entry: ViewedWorker): void {
    const sealed = this.#sealed
    this.#reporting++
    if (this.#exchange.over || sealed === undefined) {
      this.#decide(entry, { kind: 'gone', mayBeSent: false })
      return
    }
    const { pool, clock, limits } = this.#parts
    const { answer } = new Attempt(this, this.#exchange, entry)
    const { lengthBytes } = sealed
    const head = this.#workerHead(entry, sealed)
    const message =
      this.#body === undefined
        ? { head, body: emptyRange, lengthBytes, sendRest: this.#streamBody }
        : { head, body: this.#body, lengthBytes }
    pool.send(entry.worker.url, message, answer, clock() + limits.firstByteTimeoutMs)
  }

  readonly #streamBody = (connection: UpstreamConnection): void =>
    streamBody(this.#exchange.body, connection, () => giveTurn(this.#keyId))

  decided({ entry }: Attempt, outcome: Outcome): void {
    this.#decide(entry, outcome)
  }

  ended({ entry }: Attempt, outcome: ForwardEnd, bytesOut: number): void {
    entry.shares.putBack(this.#keyId)
    this.#leave()
    if (this.#sealed !== undefined && this.#caller !== undefined) {
      reportRelayed(this.#parts, {
        sealed: this.#sealed,
        caller: this.#caller,
        admissionId: this.#admissionId,
        worker: entry.worker,
        span: this.#span,
        outcome,
        bytesOut,
        attempts: this.#attempts,
        firstByteMs: this.#firstByteMs,
        elapsedMs: this.#parts.clock() - this.#startedMs,
      })
    }
    this.#done(this.#exchange, undefined)
  }

  #decide(entry: ViewedWorker, outcome: Outcome): void {
    if (outcome.kind !== 'begun') entry.shares.putBack(this.#keyId)
    switch (outcome.kind) {
      case 'begun':
        this.#firstByteMs = this.#parts.clock() - this.#startedMs
        this.#release()
        return
      case 'gone':
        if (!outcome.mayBeSent) this.#reporting--
        this.#fail()
        return
      case 'silent':
        if (!outcome.mayBeSent) this.#reporting--
        this.#parts.view.suspect(entry)
        this.#failure = silence(entry, outcome.failure === 'timeout')
        break
      case 'refused':
        this.#reporting--
        this.#failure = outcome.error
        if (outcome.error.code === 'permission_denied') {
          // The worker's key or clock differs from what this gateway knows: not the client's fault.
          this.#parts.view.suspect(entry)
          this.#parts.log.warn('worker refused a relayed request', { worker: entry.worker.id })
          this.#failure = silence(entry, false)
        } else if (outcome.error.status !== 503) {
          this.#fail(outcome.error)
          return
        }
    }
    this.#askNext()
  }

  #leave(): void {
    this.#permit?.end(this.#reporting > 0)
    if (this.#caller !== undefined) this.#parts.shares.putBack(this.#keyId)
  }

  /** The body is no longer needed. */
  #release(): void {
    this.#parts.bodies.release(this.#heldBytes)
    this.#heldBytes = 0
    this.#body = undefined
  }

  /** Only this is sent to a worker: it never sees the API key or any other header. */
  #workerHead({ worker }: ViewedWorker, sealed: SealedHead): string {
    const { requestId, model, path, lengthBytes } = sealed
    const [workerId, keyId, admissionId] = [worker.id, this.#keyId, this.#admissionId]
    const admitted = { admissionId, workerId, keyId, requestId, model, path }
    const admission = this.#parts.admissions.format(admitted)
    const sentAtMs = Date.now()
    const relayed = {
      workerId,
      requestId,
      model,
      path,
      keyRef: keyId,
      admission,
      sentAtMs,
      lengthBytes,
    }
    const mac = signRelay(worker.relayKey, relayed)
    return (
      `POST ${fleetPaths.sealed} HTTP/1.1\r\nhost: ${worker.url.slice(worker.url.indexOf('//') + 2)}\r\n` +
      `content-type: ${sealedMediaType}\r\ncontent-length: ${lengthBytes}\r\n` +
      `${names.requestId}: ${requestId}\r\n${names.model}: ${model}\r\n${names.path}: ${path}\r\n` +
      `${names.keyRef}: ${this.#keyId}\r\n${names.admission}: ${admission}\r\n` +
      `${names.sentAt}: ${sentAtMs}\r\n${names.mac}: ${mac}\r\n${traceLine(this.#span)}\r\n`
    )
  }
}

function contextOf(candidates: readonly ViewedWorker[], { model }: SealedHead) {
  return candidates[0]?.worker.models.find(({ id }) => id === model)?.context_length
}

function silence({ worker }: ViewedWorker, late: boolean): ApiError {
  return late
    ? new ApiError('timeout', `worker ${worker.id} did not start to answer in time`)
    : new ApiError('worker_unreachable', `worker ${worker.id} cannot be reached`)
}
