/** Answers one sealed request: opens it, asks the API core, seals what comes, signs the receipt. */
import { createHash } from 'node:crypto'
import type { CountedBy, Engine } from '@privatemode/inference'
import type { ApiAnswer, Usage } from '@privatemode/inference/dialects'
import { answer } from '@privatemode/inference/dialects'
import { ApiError, type ApiErrorCode, formatRelayError } from '@privatemode/protocol/api'
import {
  type AnswerSealer,
  type Bytes,
  EnvelopeError,
  type EnvelopeErrorCode,
  formatHex,
  type OpenedRequest,
  openRequest,
  type ReplayGuard,
  type RequestContext,
  type UsageRecord,
} from '@privatemode/protocol/envelope'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { renewAfterClockTurnedBack } from './clock-turned-back.ts'
import type { ReceiptSigner, SignedUsage } from './receipts.ts'
import type { SealKeys } from './seal-keys.ts'
import { sealShaped } from './seal-shaped.ts'
import { type Outgoing, type Sink, sealPieces, sealWhole } from './seal-stream.ts'
import { sealedBody } from './sealed-body.ts'
import { streamShape } from './traffic-shape.ts'

export type SealedService = {
  readonly workerId: string
  readonly engine: Engine
  readonly keys: SealKeys
  readonly guard: ReplayGuard
  readonly signer: ReceiptSigner
  /** Takes every usage record, signed and plain, exactly once. */
  readonly meter: (usage: SignedUsage, record: UsageRecord, countedBy?: CountedBy) => void
  /** Told of records that wait for their counts, so that they are not lost at a stop. */
  readonly held: (record: Promise<void>) => void
  readonly now: () => Date
}

/** What the gateway says of a request beside its sealed bytes; the sealed context must agree where it says the same. */
export type GatewayView = {
  readonly requestId: string
  readonly model: string
  readonly path: string
  readonly keyRef: string
  /** The gateway's own number of the request: its word, to be repeated in the report. */
  readonly admission: string
}

export const sealedMediaType = 'application/privatemode-sealed'

export type Served = { readonly context: RequestContext; readonly response: Response }

/**
 * Throws an `ApiError` where the request could not be opened; all else is answered sealed.
 * `ended` is called when the answer has ended, however it did.
 */
export async function serveSealed(
  service: SealedService,
  bytes: Bytes,
  view: GatewayView,
  signal: AbortSignal,
  ended: () => void = () => {},
): Promise<Response> {
  const opened = await open(service, bytes, view)
  const abort = new AbortController()
  const stop = () => abort.abort()
  signal.addEventListener('abort', stop, { once: true })
  const request = {
    path: opened.context.path,
    body: opened.body,
    headers: opened.head.headers,
    defaultCacheSalt: opened.head.cache_salt,
    requestId: view.requestId,
    boundModel: opened.context.model,
  }
  const startedAtMs = service.now().getTime()
  // Keys for the answer are derived while the engine works: its first token does not wait for them.
  const [given, sealer] = await Promise.all([
    answer(request, service.engine, abort.signal),
    opened.sealAnswer(),
  ])
  const facts = { view, startedAtMs, ended }
  const exchange = new SealedExchange(service, opened, given, sealer, facts)
  const init = { headers: { 'content-type': sealedMediaType } }
  if (given.body instanceof Uint8Array) {
    const sealed = await exchange.sealWhole(given.body as Bytes, abort.signal.aborted)
    return new Response(sealed, init)
  }
  return new Response(await exchange.stream(given.body as AsyncIterable<Bytes>, abort), init)
}

async function open(
  service: SealedService,
  bytes: Bytes,
  view: GatewayView,
): Promise<OpenedRequest> {
  const accept = (context: RequestContext) => {
    const { requestId, path, model } = context
    if (formatHex(requestId) !== view.requestId || path !== view.path || model !== view.model) {
      throw new ApiError('malformed', 'the request differs from what its headers say')
    }
    service.guard.accept(context)
  }
  renewAfterClockTurnedBack(service.keys, service.guard)
  try {
    return await openRequest(nativeCrypto, service.keys.findSecret, accept, bytes, giveTurn)
  } catch (error) {
    if (error instanceof EnvelopeError) throw relayError(error)
    throw error
  }
}

/** Timers, sockets and other requests come first. */
const giveTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

const codes: { [code in EnvelopeErrorCode]: ApiErrorCode } = {
  malformed: 'malformed',
  authentication_failed: 'malformed',
  truncated: 'malformed',
  trailing_bytes: 'malformed',
  too_large: 'request_too_large',
  unknown_key: 'unknown_key',
  stale_request: 'stale_request',
  replayed: 'replayed',
  overloaded: 'overloaded',
}

const relayError = (cause: EnvelopeError) =>
  new ApiError(codes[cause.code], cause.message, { cause })

type ExchangeFacts = {
  readonly view: GatewayView
  readonly startedAtMs: number
  readonly ended: () => void
}

/** Sealing and metering of one answer. The usage is reported exactly once, however it ends. */
class SealedExchange {
  readonly #service: SealedService
  readonly #opened: OpenedRequest
  readonly #given: ApiAnswer
  readonly #sealer: AnswerSealer
  readonly #facts: ExchangeFacts
  readonly #responseHash = createHash('sha256')
  #metered = false
  /** The client has the whole body, also where the padding behind it is cut. */
  #delivered = false

  constructor(
    service: SealedService,
    opened: OpenedRequest,
    given: ApiAnswer,
    sealer: AnswerSealer,
    facts: ExchangeFacts,
  ) {
    this.#service = service
    this.#opened = opened
    this.#given = given
    this.#sealer = sealer
    this.#facts = facts
  }

  async sealWhole(body: Bytes, aborted: boolean): Promise<Bytes> {
    this.#responseHash.update(body)
    return sealWhole(this.#outgoing(aborted), body)
  }

  /** The sealed stream. Its end is authenticated only when the answer came to its own end. */
  stream(body: AsyncIterable<Bytes>, abort: AbortController): Promise<ReadableStream<Bytes>> {
    const seal = async (sink: Sink) => {
      try {
        const [out, pieces] = [this.#outgoing(false), this.#hashed(body)]
        const shape = streamShape(this.#opened.head.shape)
        if (shape === undefined) await sealPieces(out, pieces, sink)
        else await sealShaped(out, pieces, shape, sink)
      } catch (error) {
        const outcome = abort.signal.aborted ? 'aborted' : 'failed'
        abort.abort()
        this.#signCut(outcome)
        throw error
      }
    }
    return sealedBody(seal, abort.signal, () => {
      abort.abort()
      this.#signCut('aborted')
    })
  }

  async *#hashed(body: AsyncIterable<Bytes>): AsyncGenerator<Bytes> {
    for await (const piece of body) {
      this.#responseHash.update(piece)
      yield piece
    }
  }

  /** How an answer went is known at its end: a stream may fail after its status was sent. */
  #outgoing(aborted: boolean): Outgoing {
    const { status, headers, outcome } = this.#given
    return {
      sealer: this.#sealer,
      head: { status, headers },
      whole: () => {
        this.#delivered = true
      },
      finish: () => this.#sign(aborted ? 'aborted' : outcome()),
    }
  }

  #signCut(outcome: UsageRecord['outcome']): void {
    const sign = () => {
      this.#sign(this.#delivered ? this.#given.outcome() : outcome)
    }
    const counts = this.#given.settling?.()
    if (counts === undefined) sign()
    else this.#service.held(counts.then(sign))
  }

  #sign(outcome: UsageRecord['outcome']): Bytes {
    if (this.#metered) return new Uint8Array()
    this.#metered = true
    const { view, startedAtMs, ended } = this.#facts
    ended()
    const { context, head, body } = this.#opened
    const usage: Usage = this.#given.usage()
    const now = this.#service.now().getTime()
    const record: UsageRecord = {
      version: 2,
      admission: view.admission,
      request_id: formatHex(context.requestId),
      worker_id: this.#service.workerId,
      key_ref: view.keyRef,
      model: context.model,
      path: context.path,
      status: this.#given.status,
      outcome,
      prompt_tokens: usage.promptTokens,
      cached_tokens: usage.cachedTokens,
      completion_tokens: usage.completionTokens,
      started_at: startedAtMs,
      duration_ms: Math.max(0, now - startedAtMs),
    }
    const signed = this.#service.signer.sign(record, {
      request_digest: createHash('sha256').update(body).digest('hex'),
      response_digest: this.#responseHash.digest('hex'),
      statement_digest: formatHex(this.#statementDigest()),
      ...(head.manifest_digest === undefined ? {} : { manifest_digest: head.manifest_digest }),
    })
    this.#service.meter(signed.usage, record, usage.countedBy)
    return signed.receipt
  }

  #statementDigest(): Bytes {
    const digest = this.#service.keys.statementDigestOf(this.#opened.sealKeyId)
    return digest ?? new Uint8Array()
  }
}

/** A clear error of the worker, for requests that could not be opened. */
export function clearError(error: ApiError, requestId: string): Response {
  const { status, headers, body } = formatRelayError(error, requestId)
  return new Response(body, { status, headers })
}
