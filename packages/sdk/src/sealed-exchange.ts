/**
 * One public API call as an exchange of sealed messages, without I/O. A driver sends what `prepare`
 * returns, passes in what it receives and gets back what could be opened; there are two drivers,
 * `fetch` (`client.ts`) and the proxy's sockets.
 */
import type { AttestedWorker } from '@privatemode/attestation'
import { ApiError, parseUnsealedError } from '@privatemode/protocol/api'
import {
  type AnswerOpener,
  type AnswerPart,
  andThen,
  type Bytes,
  EnvelopeError,
  type Eventually,
  type SealingRequest,
} from '@privatemode/protocol/envelope'
import { sealedMediaType } from '@privatemode/protocol/fleet'

/** One public API call, as the application made it. */
export type Call = {
  readonly path: string
  readonly model: string
  /** The body as received: it is sealed, never rebuilt. */
  readonly body: Bytes
  /** Whether the answer is read incrementally. */
  readonly stream: boolean
  readonly apiKey: string
  /** The salt in the body, if any; it decides which workers are selected. */
  readonly cacheSalt?: string | undefined
  /** The salt to use if the body has none; without either, the worker draws a fresh one. */
  readonly defaultSalt?: string | undefined
  /** Application headers that may leave the machine, in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A call sealed to its candidates, ready to be sent. */
export type SealedCall = {
  readonly requestId: string
  /** The model that the call is bound to, by its name in the manifest. */
  readonly model: string
  readonly headers: Record<string, string>
  readonly request: SealingRequest
  /** The candidates: one of them will answer. */
  readonly workers: readonly AttestedWorker[]
}

/** Seals calls, and is notified when the backend refuses one. */
export type Sealer = {
  prepare(call: Call): Eventually<SealedCall>
  noteRefusal(sealed: SealedCall, error: ApiError): void
}

export type RetryPolicy = {
  readonly budgetMs: number
  /** Whether to wait for an unreachable backend: it may be restarting. */
  readonly waitsForBackend?: boolean
}

const maxAttempts = 4
const firstPauseMs = 100

/** One call without I/O: a driver sends the sealed bytes and passes in what it receives. */
export class SealedExchange {
  readonly #sealer: Sealer
  readonly #call: Call
  readonly #retry: RetryPolicy
  readonly #untilMs: number
  #attempts = 0
  #sealed: SealedCall | undefined

  constructor(sealer: Sealer, call: Call, retry: RetryPolicy) {
    this.#sealer = sealer
    this.#call = call
    this.#retry = retry
    this.#untilMs = performance.now() + retry.budgetMs
  }

  /** Starts an attempt: seals the call again. Synchronous if sessions are warm and the provider is native. */
  prepare(): Eventually<SealedCall> {
    this.#attempts++
    return andThen(this.#sealer.prepare(this.#call), (sealed) => {
      this.#sealed = sealed
      return sealed
    })
  }

  /** Opens received bytes of a sealed answer; throws if they are not authentic. */
  step(bytes: Bytes): Eventually<AnswerPart[]> {
    return this.#sealed === undefined ? [] : openParts(this.#sealed.request.opener, bytes)
  }

  /** Called when the transfer has ended; throws unless the answer reached its authenticated end. */
  finish(): void {
    if (this.#sealed !== undefined) finishParts(this.#sealed.request.opener)
  }

  /** Clear text is never a success: anything unsealed is an error from an untrusted party. */
  refused(status: number, body: string, retryAfter: string | null | undefined): ApiError {
    const error = parseUnsealedError(status, body, retryAfter)
    if (this.#sealed !== undefined) this.#sealer.noteRefusal(this.#sealed, error)
    return error
  }

  /**
   * Milliseconds to wait before the next attempt, `undefined` if none can help. Call this only
   * while no byte of an answer has been passed on.
   */
  pauseAfter(error: unknown): number | undefined {
    if (this.#attempts >= maxAttempts || performance.now() >= this.#untilMs) return undefined
    if (isRetrySafe(error)) return retryPauseMs(error, this.#attempts)
    if (this.#retry.waitsForBackend !== true || !(error instanceof ApiError)) return undefined
    // A backend that is restarting will be back shortly.
    const mayReturn = error.code === 'gateway_unreachable' && error.retryable
    return mayReturn ? firstPauseMs * 2 ** (this.#attempts - 1) : undefined
  }
}

/** The first retry goes elsewhere immediately; if that fails too, a pause may bring a worker back. */
function retryPauseMs(error: unknown, attempt: number): number {
  const isAway = error instanceof ApiError && error.code === 'worker_unreachable'
  return isAway && attempt > 1 ? firstPauseMs * 2 ** (attempt - 2) : 0
}

/** Whether a response is a sealed answer; any other is read as an error. */
export const isSealedAnswer = (status: number, mediaType: string | null | undefined): boolean =>
  status === 200 && mediaType === sealedMediaType

/** Whether the failure came before the first byte and another attempt, with fresh keys, can fix it. */
export function isRetrySafe(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  switch (error.code) {
    case 'unknown_key':
    case 'worker_unknown':
    case 'worker_unreachable':
    // The gateway lost a connection and sent to the same worker twice; another attempt has another
    // id.
    case 'replayed':
      return true
    default:
      return false
  }
}

export function openParts(opener: AnswerOpener, bytes: Bytes): Eventually<AnswerPart[]> {
  try {
    const parts = opener.push(bytes)
    return parts instanceof Promise ? parts.catch(refuseOpening) : parts
  } catch (cause) {
    throw notAuthentic(cause)
  }
}

export function finishParts(opener: AnswerOpener): void {
  try {
    opener.finish()
  } catch (cause) {
    throw notAuthentic(cause)
  }
}

/** The error for an answer that cannot be opened: it was truncated or modified. */
export function notAuthentic(cause: unknown): ApiError {
  if (cause instanceof EnvelopeError && cause.code === 'truncated') {
    return new ApiError('worker_unreachable', cause.message, { cause })
  }
  const reason = cause instanceof Error ? cause.message : 'unknown'
  return new ApiError('response_not_authentic', `the answer was modified in transit: ${reason}`, {
    cause,
  })
}

function refuseOpening(cause: unknown): never {
  throw notAuthentic(cause)
}
