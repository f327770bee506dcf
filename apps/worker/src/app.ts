/** The worker's HTTP interface, used only by the gateway: attestation, sealed requests, health. */
import { formatAttestation } from '@privatemode/attestation'
import {
  type ExchangeServer,
  type HttpExchange,
  MessageError,
  type RequestHandler,
  type RequestHead,
  sendResponse,
  serveExchanges,
  serveRequest,
} from '@privatemode/http'
import { ApiError, formatRelayError } from '@privatemode/protocol/api'
import type { Bytes } from '@privatemode/protocol/envelope'
import { fleetPaths, relayHeaders, requestIdShape, workerPaths } from '@privatemode/protocol/fleet'
import {
  describeError,
  type Log,
  newRequestId,
  readBody,
  readExchange,
  ServiceError,
} from '@privatemode/service'
import type { EvidenceSource } from './evidence/evidence-source.ts'
import type { WorkerMetrics } from './metrics/worker-metrics.ts'
import { acceptProvision, maxProvisionBytes } from './provisioning/accept-provision.ts'
import type { RegisterToken } from './provisioning/register-token.ts'
import type { RelayGuard } from './relay/accept-relay.ts'
import { answerSealed, type SealedService } from './sealed/answer-sealed.ts'
import type { RequestMemory } from './sealed/request-memory.ts'
import { sendSealed } from './sealed/send-sealed.ts'
import { WorkerError } from './worker-error.ts'

export type WorkerApp = {
  readonly service: SealedService
  readonly evidence: EvidenceSource
  readonly relays: Pick<RelayGuard, 'accept'>
  readonly log: Log
  readonly metrics: Pick<WorkerMetrics, 'refused'>
  readonly maxBodyBytes: number
  /** Concurrent requests; more are asked to retry. */
  readonly maxRequests: number
  readonly requestMemory: RequestMemory
  readonly registerToken: RegisterToken
  /** Bounds concurrent attestations, each of which costs a hypercall and signatures. */
  readonly attestAtOnce: number
}

const nonceShape = /^[0-9a-f]{64}$/

/** Bodies of clear requests are short. */
const maxNonceBytes = 1024

export function createWorkerServer(app: WorkerApp): ExchangeServer {
  let attesting = 0

  const attest: RequestHandler = async (request) => {
    const nonce = parseNonce(await readBody(request, maxNonceBytes))
    if (attesting >= app.attestAtOnce) throw overloaded('too many attestations at once')
    attesting++
    try {
      const { statement } = await app.service.keys.current()
      const evidence = await app.evidence.produce(nonce, statement)
      const headers = { 'content-type': 'application/json' }
      return new Response(formatAttestation({ statement, evidence }), { headers })
    } finally {
      attesting--
    }
  }

  const provision: RequestHandler = async (request) => {
    const { keys, guard } = app.service
    const bytes = await readBody(request, maxProvisionBytes)
    await acceptProvision({ keys, guard, token: app.registerToken }, bytes)
    return new Response(null, { status: 204 })
  }

  async function sealed(exchange: HttpExchange): Promise<void> {
    const view = app.relays.accept(exchange.head.fields)
    // No client encodes what it seals, and the gateway's word does not decide how it is read.
    if (exchange.head.fields.get('content-encoding') !== undefined)
      throw new ApiError('malformed', 'a sealed request must not have a content-encoding')
    const leave = app.requestMemory.take(bytesToRead(exchange.head, app.maxBodyBytes))
    try {
      const bytes = await readExchange(exchange, app.maxBodyBytes)
      const abort = new AbortController()
      exchange.onGone = () => abort.abort()
      await sendSealed(exchange, await answerSealed(app.service, bytes, view, abort, leave))
    } catch (error) {
      leave()
      throw error
    }
  }

  async function answer(exchange: HttpExchange, running: number): Promise<void> {
    const { target, method } = exchange.head
    const path = target.split('?', 1)[0]
    // A busy worker is healthy: a probe that failed would have it killed, with all its requests.
    if (path === '/health') return serveRequest(exchange, health, maxNonceBytes)
    if (running > app.maxRequests) throw overloaded('too many requests at once')
    if (method === 'POST' && path === fleetPaths.sealed) return sealed(exchange)
    // The body is read first: a caller that sends its nonce slowly must not keep others waiting.
    if (method === 'POST' && path === workerPaths.attestation)
      return serveRequest(exchange, attest, maxNonceBytes)
    if (method === 'POST' && path === workerPaths.provision)
      return serveRequest(exchange, provision, maxProvisionBytes)
    throw new ApiError('not_found', 'no such route')
  }

  /** An unsealed error, for requests that could not be opened. */
  return serveExchanges(answer, (exchange, error) => {
    const given = exchange.head.fields.get(relayHeaders.requestId) ?? ''
    const requestId = requestIdShape.test(given) ? given : newRequestId()
    const shown = asApiError(error, app.log, requestId)
    app.metrics.refused(shown.code)
    const { body, ...init } = formatRelayError(shown, requestId)
    void sendResponse(exchange, new Response(body, init))
  })
}

const health: RequestHandler = async () => Response.json({ status: 'ok' })

const overloaded = (message: string) =>
  new ApiError('overloaded', message, { retryAfterSeconds: 1 })

/**
 * The longest the body can be according to its headers. A body over the limit is refused while
 * reading.
 */
function bytesToRead({ framing }: RequestHead, maxBytes: number): number {
  return framing === 'chunked' ? maxBytes : Math.min(framing, maxBytes)
}

function parseNonce(body: Bytes): Uint8Array {
  let nonce: unknown
  try {
    nonce = (JSON.parse(new TextDecoder().decode(body)) as { nonce?: unknown } | null)?.nonce
  } catch {
    nonce = undefined
  }
  if (typeof nonce !== 'string' || !nonceShape.test(nonce)) {
    throw new ApiError('malformed', 'the nonce must be 64 hexadecimal digits, lower case')
  }
  return Buffer.from(nonce, 'hex')
}

/**
 * The only place where a failure becomes a status. Errors from elsewhere never reveal their cause.
 */
function asApiError(error: unknown, log: Log, requestId: string): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof MessageError) {
    const code = error.status === 413 ? 'request_too_large' : 'malformed'
    return new ApiError(code, error.message, { status: error.status })
  }
  if (error instanceof ServiceError && error.code === 'body_too_large') {
    return new ApiError('request_too_large', error.message)
  }
  if (error instanceof ServiceError) return new ApiError('malformed', error.message)
  if (error instanceof WorkerError && error.code === 'evidence_overloaded') {
    return overloaded('too many attestations at once')
  }
  // Only evidence errors are logged in detail: others may contain parts of a request.
  const detail = error instanceof WorkerError ? describeError(error) : { code: nameOf(error) }
  log.error('request failed in the worker', { requestId, ...detail })
  return new ApiError('internal_error', 'the worker failed to answer')
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'unknown')
