/** Answers one sealed request: opens it, calls the API core, seals the answer, signs the receipt. */
import { createHash } from 'node:crypto'
import { releaseBehind, releaseBytes } from '@privatemode/http'
import type { CountedBy, Engine } from '@privatemode/inference'
import type { ApiAnswer, ParsedBody, Usage } from '@privatemode/inference/dialects'
import { answer, parseLong } from '@privatemode/inference/dialects'
import { ApiError, type ApiErrorCode, scanBody } from '@privatemode/protocol/api'
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
  type TrafficShape,
  type UsageRecord,
} from '@privatemode/protocol/envelope'
import type { SignedUsage } from '@privatemode/protocol/fleet'
import { giveTurn, hashInTurns } from '@privatemode/service'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { renewAfterClockTurnedBack } from './clock-turned-back.ts'
import { type EnginePace, timedPieces } from './engine-pace.ts'
import type { ReceiptSigner } from './receipts.ts'
import type { SealKeys } from './seal-keys.ts'
import { sealFromStart, sealShaped } from './seal-shaped.ts'
import { type Outgoing, type Sink, sealPieces, sealWhole } from './seal-stream.ts'
import {
  classOf,
  fitToPace,
  type Shape,
  type StreamShape,
  shapeOf,
  type WholeShape,
} from './traffic-shape.ts'

export type SealedService = {
  readonly workerId: string
  readonly engine: Engine
  readonly keys: SealKeys
  readonly guard: ReplayGuard
  readonly signer: ReceiptSigner
  /** Receives every usage record, signed and plain, exactly once. */
  readonly meter: (usage: SignedUsage, record: UsageRecord, countedBy?: CountedBy) => void
  /** Called with records that are waiting for their counts, so that they are not lost at shutdown. */
  readonly held: (record: Promise<void>) => void
  readonly now: () => Date
  readonly pace: EnginePace
  /** Maps shape names to shapes; tests cannot wait for the real ones. */
  readonly shapeOf?: (name: TrafficShape) => Shape
}

/** What the gateway claims about a request; fields also present in the sealed context must match it. */
export type GatewayView = {
  readonly requestId: string
  readonly model: string
  readonly path: string
  readonly keyRef: string
  /** The gateway's own number for the request: not verified, only repeated in the usage report. */
  readonly admission: string
}

/** An answer on its way: as a whole, or as its pieces are sealed. */
export type SealedReply =
  | { readonly kind: 'whole'; readonly pieces: readonly Bytes[] }
  | {
      readonly kind: 'stream'
      /** Rejects if the answer cannot be completed: it must be cut off where it is. */
      seal(sink: Sink): Promise<void>
      /** The reader is gone. */
      cancel(): void
    }

/**
 * Throws an `ApiError` if the request could not be opened; every other answer is sealed. `ended` is
 * called when the answer has ended, for whatever reason.
 */
export async function answerSealed(
  service: SealedService,
  bytes: Bytes,
  view: GatewayView,
  abort: AbortController,
  ended: () => void = () => {},
): Promise<SealedReply> {
  const opened = await open(service, bytes, view)
  const startedAtMs = service.now().getTime()
  const startMs = performance.now()
  // Others get turns while a long body is parsed and hashed.
  const turn = () => giveTurn(view.keyRef)
  const parsing = parseLong(opened.context.path, opened.body, service.engine, turn)
  const body = parsing === undefined ? opened.body : await parsing
  const requestDigest = parsing && (await hashInTurns(opened.body, turn))
  const request = {
    path: opened.context.path,
    body,
    headers: opened.head.headers,
    defaultCacheSalt: opened.head.cache_salt,
    requestId: view.requestId,
    boundModel: opened.context.model,
    caller: view.keyRef,
  }
  const asked = answer(request, service.engine, abort.signal)
  // The rest happens while the engine works, so its first token does not wait for it.
  const wantsStream = asksForStream(body)
  const shape = shapeFor(service, opened)
  const facts = { service, opened, view, startedAtMs, ended, requestDigest }
  const [soon, sealer] = await Promise.all([
    untilLate(asked, lateAfterMs(shape, opened.context.path, wantsStream)),
    opened.sealAnswer(),
  ])
  const sealed = new SealedAnswer({ ...facts, startMs }, sealer)
  if (soon === undefined && shape.stream !== undefined) {
    return sealed.streamFromStart(asked, shape.stream, abort)
  }
  const given = soon ?? (await asked)
  // An error looks like the shortest answer.
  const isStream =
    !(given.body instanceof Uint8Array) ||
    (shape.stream !== undefined && (wantsStream || isErrorForText(given, opened)))
  if (isStream) return sealed.stream(given, shape.stream, abort)
  await untilRelease(shape.whole, request.path, startMs, abort.signal)
  const pieces = await sealed.sealWhole(given, shape.whole, abort.signal.aborted)
  return { kind: 'whole', pieces }
}

/** Stream lengths follow the engine's pace in earlier answers. */
function shapeFor({ shapeOf: given = shapeOf, pace }: SealedService, opened: OpenedRequest): Shape {
  const { stream, whole } = given(opened.head.shape)
  const msPerToken = pace.msPerToken(opened.context.model)
  return { stream: stream && fitToPace(stream, msPerToken), whole }
}

const isErrorForText = ({ status }: ApiAnswer, { context }: OpenedRequest) =>
  status >= 400 && !otherPaths.has(context.path)

/** When an answer that has not begun is sent as padding, because an observer could see how long it took. */
function lateAfterMs(shape: Shape, path: string, wantsStream: boolean): number | undefined {
  if (wantsStream) return shape.stream?.startsAfterMs
  return otherPaths.has(path) ? undefined : shape.whole?.streamAfterMs
}

/** Returns the answer, or `undefined` if it takes longer. */
async function untilLate(
  given: Promise<ApiAnswer>,
  afterMs: number | undefined,
): Promise<ApiAnswer | undefined> {
  if (afterMs === undefined) return await given
  given.catch(() => {}) // surfaces when the stream is read
  if (afterMs === 0) return undefined
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, afterMs)
  try {
    return await Promise.race([given, late])
  } finally {
    clearTimeout(timer)
  }
}

/** An unreadable body is answered with an error, which no client expects to be a stream. */
function asksForStream(body: Bytes | ParsedBody): boolean {
  try {
    return body instanceof Uint8Array ? scanBody(body).stream : body.json?.stream === true
  } catch {
    return false
  }
}

/** Waits until the next release time for answers of this kind, or until the client disconnects. */
async function untilRelease(
  shape: WholeShape | undefined,
  path: string,
  startMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (shape === undefined || !otherPaths.has(path)) return
  const { otherAfterMs: leastMs, growth } = shape
  if (leastMs === 0 || signal.aborted) return
  const afterMs = classOf(performance.now() - startMs, leastMs, growth)
  if (afterMs > longestSilenceMs) return
  const dueMs = startMs + afterMs
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, dueMs - performance.now())
    const stop = () => {
      clearTimeout(timer)
      resolve()
    }
    signal.addEventListener('abort', stop, { once: true })
  })
}

/** No intermediary drops a connection this early; an answer that is already late waits no longer. */
const longestSilenceMs = 240_000

/** Paths that generate no text. */
const otherPaths = new Set(['/v1/embeddings', '/v1/messages/count_tokens'])

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
  const isLong = bytes.length > 64 * 1024
  const turn = () => giveTurn(view.keyRef)
  let opened: OpenedRequest | undefined
  try {
    if (isLong) await turn()
    // What was opened takes the place of what was sealed.
    opened = await openRequest(nativeCrypto, service.keys.findSecret, accept, bytes, turn, bytes)
    return opened
  } catch (error) {
    if (!(error instanceof EnvelopeError)) throw error
    throw new ApiError(codes[error.code], error.message, { cause: error })
  } finally {
    // It would pile up until it is collected.
    if (isLong && opened?.body.buffer !== bytes.buffer) releaseBytes(bytes)
  }
}

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

type ExchangeFacts = {
  readonly service: SealedService
  readonly opened: OpenedRequest
  readonly view: GatewayView
  readonly startedAtMs: number
  /** The same on the clock that is never set. */
  readonly startMs: number
  readonly ended: () => void
  /** Of a long body, hashed before; a short one is hashed for its receipt. */
  readonly requestDigest: string | undefined
}

/** Seals and meters one answer. Its usage is reported exactly once, however it ends. */
class SealedAnswer {
  readonly #facts: ExchangeFacts
  readonly #sealer: AnswerSealer
  readonly #responseHash = createHash('sha256')
  #metered = false
  /** The client has the whole body, even if the padding after it is cut. */
  #delivered = false
  /** How long the engine took for its tokens; NaN until it has produced all of them. */
  #engineMs = Number.NaN
  /** When the engine had produced all of it; padding comes later and does not count. */
  #endedAtMs: number | undefined

  constructor(facts: ExchangeFacts, sealer: AnswerSealer) {
    this.#facts = facts
    this.#sealer = sealer
  }

  async sealWhole(
    given: ApiAnswer,
    shape: WholeShape | undefined,
    aborted: boolean,
  ): Promise<readonly Bytes[]> {
    const body = given.body as Bytes
    this.#responseHash.update(body)
    this.#engineMs = performance.now() - this.#facts.startMs
    return sealWhole(this.#outgoing(given, aborted), body, shape)
  }

  /** The sealed stream. Its end is authenticated only if the answer ended by itself. */
  stream(given: ApiAnswer, shape: StreamShape | undefined, abort: AbortController): SealedReply {
    const [out, pieces] = [this.#outgoing(given, false), this.#hashed(given.body)]
    const seal = (sink: Sink) =>
      shape === undefined ? sealPieces(out, pieces, sink) : sealShaped(out, pieces, shape, sink)
    return this.#sealed(seal, abort, (outcome) => this.#signCut(given, outcome))
  }

  /** Like `stream`, for an answer that the engine has not begun. */
  streamFromStart(
    given: Promise<ApiAnswer>,
    shape: StreamShape,
    abort: AbortController,
  ): SealedReply {
    const begun = given.then((known) => ({
      out: this.#outgoing(known, false),
      pieces: this.#hashed(known.body),
    }))
    const seal = (sink: Sink) => sealFromStart(this.#sealer, begun, shape, sink)
    // Aborting an answer that has not begun settles it, so its outcome is known.
    return this.#sealed(seal, abort, (outcome) =>
      this.#facts.service.held(given.then((known) => this.#signCut(known, outcome))),
    )
  }

  #sealed(
    seal: (sink: Sink) => Promise<void>,
    abort: AbortController,
    signCut: (outcome: UsageRecord['outcome']) => void,
  ): SealedReply {
    return {
      kind: 'stream',
      async seal(sink) {
        try {
          await seal(sink)
        } catch (error) {
          const outcome = abort.signal.aborted ? 'aborted' : 'failed'
          abort.abort()
          signCut(outcome)
          throw error
        }
      },
      cancel() {
        abort.abort()
        signCut('aborted')
      },
    }
  }

  #hashed(body: ApiAnswer['body']): AsyncIterable<Bytes> {
    const pieces = body instanceof Uint8Array ? [body as Bytes] : (body as AsyncIterable<Bytes>)
    const seen = (piece: Bytes) => void this.#responseHash.update(piece)
    const ended = (ms: number) => {
      this.#engineMs = ms
      this.#endedAtMs = this.#facts.service.now().getTime()
    }
    return timedPieces(pieces, this.#facts.startMs, seen, ended)
  }

  /** The outcome is known only at the end: a stream may fail after its status was sent. */
  #outgoing(given: ApiAnswer, aborted: boolean): Outgoing {
    const { status, headers, outcome } = given
    return {
      sealer: this.#sealer,
      head: { status, headers },
      whole: () => {
        this.#delivered = true
      },
      finish: () => this.#sign(given, aborted ? 'aborted' : outcome()),
    }
  }

  #signCut(given: ApiAnswer, outcome: UsageRecord['outcome']): void {
    const sign = () => {
      this.#sign(given, this.#delivered ? given.outcome() : outcome)
    }
    const counts = given.settling?.()
    if (counts === undefined) sign()
    else this.#facts.service.held(counts.then(sign))
  }

  #sign(given: ApiAnswer, outcome: UsageRecord['outcome']): Bytes {
    if (this.#metered) return new Uint8Array()
    this.#metered = true
    const { service, opened, view, startedAtMs, ended, requestDigest } = this.#facts
    ended()
    const { context, head, body } = opened
    const usage: Usage = given.usage()
    if (outcome === 'complete') {
      service.pace.note(context.model, usage.completionTokens, this.#engineMs)
    }
    const endedAtMs = this.#endedAtMs ?? service.now().getTime()
    const statementDigest = service.keys.statementDigestOf(opened.sealKeyId)
    const record: UsageRecord = {
      version: 2,
      admission: view.admission,
      request_id: formatHex(context.requestId),
      worker_id: service.workerId,
      key_ref: view.keyRef,
      model: context.model,
      path: context.path,
      status: given.status,
      outcome,
      prompt_tokens: usage.promptTokens,
      cached_tokens: usage.cachedTokens,
      completion_tokens: usage.completionTokens,
      started_at: startedAtMs,
      duration_ms: Math.max(0, endedAtMs - startedAtMs),
    }
    const signed = service.signer.sign(record, {
      request_digest: requestDigest ?? formatHex(nativeCrypto.sha256(body)),
      response_digest: this.#responseHash.digest('hex'),
      statement_digest: formatHex(statementDigest ?? new Uint8Array()),
      ...(head.manifest_digest === undefined ? {} : { manifest_digest: head.manifest_digest }),
    })
    service.meter(signed.usage, record, usage.countedBy)
    // Only an answer that was cut may still need the request, to count its tokens.
    if (outcome === 'complete') releaseBehind(body)
    return signed.receipt
  }
}
