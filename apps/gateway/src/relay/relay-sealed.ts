/** `POST /privatemode/v1/sealed`: key, quota, choice of a worker, bytes through. */
import { ApiError, parseRelayError } from '@privatemode/protocol/api'
import type { Log, OutboundFetch } from '@privatemode/service'
import { bearerOf } from '../http/bearer.ts'
import { explainBodyError } from '../http/read-json.ts'
import type { Caller, KeyCheck } from '../keys/key-check.ts'
import { orderCandidates } from '../registry/choose-worker.ts'
import type { ViewedWorker, WorkerView } from '../registry/worker-view.ts'
import { askWorker } from './ask-worker.ts'
import type { BodyBudget, HeldBody } from './body-budget.ts'
import { passThrough, type StreamEnd } from './pass-through.ts'
import { readSealedRequest, type SealedRequest, sealedContentType } from './sealed-request.ts'

export type RelayParts = {
  readonly keys: KeyCheck
  readonly view: WorkerView
  readonly bodies: BodyBudget
  readonly fetch: OutboundFetch
  readonly log: Log
  readonly clock: () => number
  readonly random: () => number
  readonly limits: RelayLimits
}

export type RelayLimits = {
  readonly firstByteTimeoutMs: number
  readonly attempts: number
}

const maxErrorBytes = 64 * 1024

export async function relaySealed(request: Request, parts: RelayParts): Promise<Response> {
  const startedMs = parts.clock()
  const caller = await parts.keys.check(bearerOf(request.headers))
  const sealed = readSealedRequest(request.headers)
  const candidates = findCandidates(sealed, parts)
  const body = await readHeldBody(request, sealed, parts.bodies)
  try {
    return await askInTurn({ request, sealed, caller, candidates, body, startedMs }, parts)
  } finally {
    body.release()
  }
}

type Turn = {
  readonly request: Request
  readonly sealed: SealedRequest
  readonly caller: Caller
  readonly candidates: readonly ViewedWorker[]
  readonly body: HeldBody
  readonly startedMs: number
}

/** Asks candidate after candidate until one begins to answer. */
async function askInTurn(turn: Turn, parts: RelayParts): Promise<Response> {
  const tries = turn.body.kind === 'whole' ? parts.limits.attempts : 1
  let failure: ApiError | undefined
  for (const [index, entry] of turn.candidates.slice(0, tries).entries()) {
    const end = parts.view.begin(entry)
    let streaming = false
    try {
      const reply = await askWorker(parts.fetch, {
        url: `${entry.worker.url}/privatemode/v1/sealed`,
        headers: workerHeaders(turn),
        body: turn.body.content,
        signal: turn.request.signal,
        firstByteTimeoutMs: parts.limits.firstByteTimeoutMs,
      })
      switch (reply.kind) {
        case 'gone':
          throw new ApiError('timeout', 'the client went away', { status: 499, retryable: false })
        case 'silent':
          parts.view.suspect(entry)
          failure = silence(entry, reply.reason)
          break
        case 'answer':
          if (isSealed(reply.response)) {
            streaming = true
            return streamed(reply.response, turn, entry, index + 1, end, parts)
          }
          failure = await readFailure(reply.response)
          if (reply.response.status !== 503) throw failure
      }
    } finally {
      if (!streaming) end()
    }
  }
  throw failure ?? new ApiError('no_worker', 'no worker takes requests', { retryAfterSeconds: 1 })
}

function streamed(
  response: Response,
  turn: Turn,
  entry: ViewedWorker,
  attempts: number,
  end: () => void,
  parts: RelayParts,
): Response {
  const firstByteMs = parts.clock() - turn.startedMs
  const finish = (outcome: StreamEnd, bytesOut: number) => {
    end()
    parts.log.info('relayed', {
      requestId: turn.sealed.requestId,
      keyRef: turn.caller.keyId,
      model: turn.sealed.model,
      route: turn.sealed.path,
      worker: entry.worker.id,
      attempts,
      outcome,
      bytesOut,
      firstByteMs: Math.round(firstByteMs),
      elapsedMs: Math.round(parts.clock() - turn.startedMs),
    })
  }
  const headers: Record<string, string> = { 'content-type': sealedContentType }
  const length = response.headers.get('content-length')
  if (length !== null) headers['content-length'] = length
  if (response.body === null) {
    finish('complete', 0)
    return new Response(null, { headers })
  }
  return new Response(passThrough(response.body, finish), { headers })
}

/** Live candidates that have the model, best first. */
function findCandidates(sealed: SealedRequest, parts: RelayParts): ViewedWorker[] {
  const live = sealed.workerIds.flatMap((id) => parts.view.find(id) ?? [])
  if (live.length === 0) {
    throw new ApiError(
      'worker_unknown',
      'none of the named workers is here; ask the directory again',
    )
  }
  const able = live.filter(({ worker }) => worker.models.some(({ id }) => id === sealed.model))
  if (able.length === 0) {
    throw new ApiError('model_not_found', 'the named workers do not have this model', {
      param: 'model',
    })
  }
  const ordered = orderCandidates(able, parts.clock(), parts.random)
  if (ordered.length === 0) {
    throw new ApiError('no_worker', 'the named workers are being drained', { retryAfterSeconds: 1 })
  }
  return ordered
}

async function readHeldBody(
  request: Request,
  sealed: SealedRequest,
  bodies: BodyBudget,
): Promise<HeldBody> {
  try {
    return await bodies.read(request, sealed.lengthBytes)
  } catch (cause) {
    throw explainBodyError(cause)
  }
}

/** Only these leave for a worker: it never sees the API key or any other header. */
function workerHeaders({ sealed, caller, body }: Turn): Record<string, string> {
  return {
    'content-type': sealedContentType,
    'privatemode-request-id': sealed.requestId,
    'privatemode-model': sealed.model,
    'privatemode-path': sealed.path,
    'privatemode-key-ref': caller.keyId,
    ...(body.kind === 'stream' ? { 'content-length': String(body.lengthBytes) } : {}),
  }
}

function isSealed(response: Response): boolean {
  return response.status === 200 && response.headers.get('content-type') === sealedContentType
}

/** A worker's refusal, cut to a bounded length and put into our own words' shape. */
async function readFailure(response: Response): Promise<ApiError> {
  let text = ''
  try {
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString('latin1')
      if (text.length > maxErrorBytes) break
    }
  } catch {
    text = '' // the status alone speaks
  }
  const body = Buffer.from(text, 'latin1').toString('utf8')
  return parseRelayError(response.status, body, response.headers.get('retry-after'))
}

function silence(entry: ViewedWorker, reason: 'unreachable' | 'timeout'): ApiError {
  return reason === 'timeout'
    ? new ApiError('timeout', `worker ${entry.worker.id} did not begin to answer in time`)
    : new ApiError('worker_unreachable', `worker ${entry.worker.id} cannot be reached`)
}
