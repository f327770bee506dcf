/**
 * `POST /privatemode/v1/workers/{id}/attestation`: forwards a nonce to a worker and returns its
 * evidence.
 */
import { ApiError } from '@privatemode/protocol/api'
import { workerPaths } from '@privatemode/protocol/fleet'
import type { OutboundFetch } from '@privatemode/service'
import { readJson } from '../http/read-json.ts'
import { refuseShare } from '../limits/limit-error.ts'
import type { WorkerView } from '../registry/worker-view.ts'

export type AttestationParts = {
  readonly view: WorkerView
  readonly fetch: OutboundFetch
  readonly timeoutMs: number
  readonly keySharePercent: number
}

/** A worker refuses more. */
const attestationsAtOnce = 32

const maxRequestBytes = 1024
/** What clients accept: three times the size of eight GPUs with their reference manifests. */
const maxEvidenceBytes = 24 * 1024 * 1024

export async function relayAttestation(
  request: Request,
  workerId: string,
  keyId: string,
  parts: AttestationParts,
): Promise<Response> {
  const entry = parts.view.find(workerId)
  if (entry === undefined) throw new ApiError('worker_unknown', 'there is no such worker')
  const nonce = parseNonce(await readJson(request, maxRequestBytes))
  const left = attestationsAtOnce - entry.attestations.total
  if (!entry.attestations.take(keyId, left, parts.keySharePercent)) throw refuseShare()
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(parts.timeoutMs)])
  try {
    const response = await parts.fetch(entry.worker.url + workerPaths.attestation, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ nonce }),
      signal,
    })
    const evidence = await readBounded(response, maxEvidenceBytes)
    return new Response(evidence, {
      status: response.status,
      headers: {
        // Whatever type the worker claims, its answer must not become a page of this origin.
        'content-type': 'application/json',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
      },
    })
  } catch (cause) {
    if (cause instanceof ApiError) throw cause
    parts.view.suspect(entry)
    throw new ApiError('worker_unreachable', `worker ${workerId} cannot be reached`, { cause })
  } finally {
    entry.attestations.putBack(keyId)
  }
}

function parseNonce(body: unknown): string {
  const nonce =
    typeof body === 'object' && body !== null && 'nonce' in body ? body.nonce : undefined
  if (typeof nonce === 'string' && /^[0-9a-f]{64}$/.test(nonce)) return nonce
  throw new ApiError('invalid_value', 'nonce must be 64 hex digits', { param: 'nonce' })
}

async function readBounded(
  response: Response,
  limitBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of response.body ?? []) {
    size += part.length
    if (size > limitBytes) {
      throw new ApiError('upstream_error', `evidence is over the limit of ${limitBytes} bytes`)
    }
    parts.push(part)
  }
  return new Uint8Array(Buffer.concat(parts))
}
