/** Calls to the gateway other than sealed requests. All of its responses are untrusted hints. */
import { type Attestation, maxAttestationBytes, parseAttestation } from '@privatemode/attestation'
import { ApiError, parseUnsealedError } from '@privatemode/protocol/api'
import { type Bytes, formatHex } from '@privatemode/protocol/envelope'
import { type DirectoryWorker, fleetPaths, isWorkerId } from '@privatemode/protocol/fleet'
import type { AnswerTimeout } from './answer-timeout.ts'
import type { Fetch } from './options.ts'
import { readBounded } from './read-bounded.ts'

export type ListedWorker = {
  readonly id: string
  readonly models: readonly string[]
  readonly sealKeyId: string
}

const timeoutMs = 15_000
const maxDirectoryBytes = 4 * 1024 * 1024
const maxListedWorkers = 4096

export class Backend {
  readonly endpoint: string
  readonly #fetch: Fetch

  constructor(endpoint: string, fetch: Fetch) {
    this.endpoint = endpoint.replace(/\/+$/, '')
    this.#fetch = fetch
  }

  async directory(apiKey: string): Promise<ListedWorker[]> {
    const bytes = await this.#call(fleetPaths.directory, 'GET', apiKey, maxDirectoryBytes)
    return parseDirectory(bytes)
  }

  async attestation(workerId: string, nonce: Bytes, apiKey: string): Promise<Attestation> {
    const path = fleetPaths.workerAttestation(workerId)
    const body = JSON.stringify({ nonce: formatHex(nonce) })
    return parseAttestation(await this.#call(path, 'POST', apiKey, maxAttestationBytes, body))
  }

  /** Sends a sealed request; the caller interprets the response. */
  async send(headers: Record<string, string>, body: Bytes, signal: AbortSignal) {
    try {
      const url = this.endpoint + fleetPaths.sealed
      return await this.#fetch(url, { method: 'POST', headers, body, signal })
    } catch (cause) {
      throw signal.aborted ? cause : unreachable(this.endpoint, cause)
    }
  }

  async #call(path: string, method: string, apiKey: string, limit: number, body?: string) {
    const headers: Record<string, string> = { authorization: `Bearer ${apiKey}` }
    if (body !== undefined) headers['content-type'] = 'application/json'
    const init: RequestInit = { method, headers, signal: AbortSignal.timeout(timeoutMs) }
    if (body !== undefined) init.body = body
    let response: Response
    try {
      response = await this.#fetch(this.endpoint + path, init)
    } catch (cause) {
      throw unreachable(this.endpoint, cause)
    }
    const bytes = await readAnswer(response, limit)
    if (response.ok) return bytes
    const text = new TextDecoder().decode(bytes)
    throw parseUnsealedError(response.status, text, response.headers.get('retry-after'))
  }
}

/**
 * Whether a text can be sent as an API key: printable ASCII of a sane length. Platforms quote a
 * header that they refuse, for example because of a line break, and the key with it.
 */
export const isApiKey = (text: string): boolean => /^[\x21-\x7e]{1,512}$/.test(text)

/** Reads a clear-text response whose sender is not trusted to stop. */
export async function readAnswer(
  response: Response,
  limit: number,
  answerTimeout?: AnswerTimeout,
): Promise<Bytes> {
  try {
    const bytes = await readBounded(response, limit, answerTimeout)
    if (bytes !== undefined) return bytes
  } catch (cause) {
    throw cause instanceof ApiError ? cause : unreachable(response.url, cause)
  }
  throw new ApiError('upstream_error', `the backend sent more than ${limit} bytes`)
}

/**
 * The platform's message says what went wrong with the connection. It never contains a body, but may
 * quote a header, and then the API key.
 */
function unreachable(where: string, failure: unknown): ApiError {
  const cause = failure instanceof Error && !/bearer/i.test(failure.message) ? failure : undefined
  const reason = cause?.message ?? 'unknown reason'
  return new ApiError('gateway_unreachable', `gateway unreachable at ${where}: ${reason}`, {
    cause,
  })
}

function parseDirectory(bytes: Bytes): ListedWorker[] {
  let json: unknown
  try {
    json = JSON.parse(new TextDecoder().decode(bytes))
  } catch (cause) {
    throw new ApiError('upstream_error', 'the worker directory is not JSON', { cause })
  }
  const workers = (json as { workers?: unknown } | null)?.workers
  if (!Array.isArray(workers)) {
    throw new ApiError('upstream_error', 'the worker directory has no list of workers')
  }
  return workers.slice(0, maxListedWorkers).flatMap(parseListedWorker)
}

function parseListedWorker(value: unknown): ListedWorker[] {
  const { id, models, seal_key_id } = (value ?? {}) as {
    [field in keyof DirectoryWorker]?: unknown
  }
  if (typeof id !== 'string' || !isWorkerId(id)) return []
  if (typeof seal_key_id !== 'string' || !Array.isArray(models)) return []
  const names = models.filter((model): model is string => typeof model === 'string')
  return [{ id, models: names, sealKeyId: seal_key_id }]
}
