/** The worker's HTTP interface, used only by the gateway: attestation, sealed requests, health. */
import { formatAttestation } from '@privatemode/attestation'
import { ApiError } from '@privatemode/protocol/api'
import type { Bytes } from '@privatemode/protocol/envelope'
import { fleetPaths, relayHeaders, requestIdShape, workerPaths } from '@privatemode/protocol/fleet'
import { describeError, type Log, newRequestId, readBody, ServiceError } from '@privatemode/service'
import type { EvidenceSource } from './evidence/evidence-source.ts'
import type { WorkerMetrics } from './metrics/worker-metrics.ts'
import { acceptProvision, maxProvisionBytes } from './provisioning/accept-provision.ts'
import type { RegisterToken } from './provisioning/register-token.ts'
import type { RelayGuard } from './relay/accept-relay.ts'
import { answerSealed, clearError, type SealedService } from './sealed/answer-sealed.ts'
import type { RequestMemory } from './sealed/request-memory.ts'
import { WorkerError } from './worker-error.ts'

export type WorkerApp = {
  readonly service: SealedService
  readonly evidence: EvidenceSource
  readonly relays: Pick<RelayGuard, 'accept'>
  readonly log: Log
  readonly metrics: Pick<WorkerMetrics, 'refused'>
  readonly maxBodyBytes: number
  readonly requestMemory: RequestMemory
  readonly registerToken: RegisterToken
  /** Bounds concurrent attestations, each of which costs a hypercall and signatures. */
  readonly attestAtOnce: number
}

const nonceShape = /^[0-9a-f]{64}$/

export function workerHandler(app: WorkerApp): (request: Request) => Promise<Response> {
  let attesting = 0

  async function attest(request: Request): Promise<Response> {
    // Read first: a caller that sends its nonce slowly must not keep others waiting.
    const nonce = parseNonce(await readBody(request, 1024))
    if (attesting >= app.attestAtOnce) {
      throw new ApiError('overloaded', 'too many attestations at once', { retryAfterSeconds: 1 })
    }
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

  async function sealed(request: Request): Promise<Response> {
    const { headers } = request
    const view = app.relays.accept(headers)
    const leave = app.requestMemory.take(bytesToRead(headers, app.maxBodyBytes))
    try {
      const bytes = await readBody(request, app.maxBodyBytes)
      return await answerSealed(app.service, bytes, view, request.signal, leave)
    } catch (error) {
      leave()
      throw error
    }
  }

  async function provision(request: Request): Promise<Response> {
    const { keys, guard } = app.service
    const bytes = await readBody(request, maxProvisionBytes)
    await acceptProvision({ keys, guard, token: app.registerToken }, bytes)
    return new Response(null, { status: 204 })
  }

  return async (request) => {
    const { pathname } = new URL(request.url)
    const given = request.headers.get(relayHeaders.requestId) ?? ''
    const requestId = requestIdShape.test(given) ? given : newRequestId()
    try {
      if (pathname === '/health') return Response.json({ status: 'ok' })
      if (request.method !== 'POST') throw new ApiError('not_found', 'no such route')
      if (pathname === fleetPaths.sealed) return await sealed(request)
      if (pathname === workerPaths.attestation) return await attest(request)
      if (pathname === workerPaths.provision) return await provision(request)
      throw new ApiError('not_found', 'no such route')
    } catch (error) {
      const shown = asApiError(error, app.log, requestId)
      app.metrics.refused(shown.code)
      return clearError(shown, requestId)
    }
  }
}

/**
 * The longest the body can be according to its headers. A body over the limit is refused while
 * reading.
 */
function bytesToRead(headers: Headers, maxBytes: number): number {
  const declared = headers.get('content-length')
  const isPlain = declared !== null && headers.get('content-encoding') === null
  return isPlain ? Math.min(Number(declared), maxBytes) : maxBytes
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
  if (error instanceof ServiceError && error.code === 'body_too_large') {
    return new ApiError('request_too_large', error.message)
  }
  if (error instanceof ServiceError) return new ApiError('malformed', error.message)
  if (error instanceof WorkerError && error.code === 'evidence_overloaded') {
    return new ApiError('overloaded', 'too many attestations at once', { retryAfterSeconds: 1 })
  }
  // Only evidence errors are logged in detail: others may contain parts of a request.
  const detail = error instanceof WorkerError ? describeError(error) : { code: nameOf(error) }
  log.error('request failed in the worker', { requestId, ...detail })
  return new ApiError('internal_error', 'the worker failed to answer')
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'unknown')
