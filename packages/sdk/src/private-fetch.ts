/** A `fetch` for the official clients: public API calls are sealed, anything else is refused. */
import { AttestationError } from '@privatemode/attestation'
import {
  ApiError,
  type Dialect,
  findRoute,
  formatError,
  formatModel,
  formatModelList,
  requireModel,
} from '@privatemode/protocol/api'
import { type Bytes, decodeText, encodeText, formatHex } from '@privatemode/protocol/envelope'
import { isApiKey } from './backend.ts'
import type { PrivateClient } from './client.ts'
import { toPrivatemodeError } from './privatemode-error.ts'
import { ReceiptedAnswer } from './receipted-answer.ts'
import { refusedError } from './refusals.ts'
import type { Call } from './sealed-exchange.ts'
import { unlessAborted } from './unless-aborted.ts'

export type PrivateFetchOptions = {
  readonly client: PrivateClient
  /** Used if the request has no key of its own. */
  readonly apiKey: string | undefined
  readonly defaultSalt: string | undefined
}

/** The application headers that may leave the machine: they change what the API does. */
export const forwardedHeaders = ['anthropic-version', 'anthropic-beta'] as const

const answers = new WeakMap<Response, ReceiptedAnswer>()

/** The answer behind a `privateFetch` response, with its receipt. */
export const answerOf = (response: Response): ReceiptedAnswer | undefined => answers.get(response)

/** A `fetch` that seals public API calls to a verified worker and refuses every other request. */
export function privateFetch(options: PrivateFetchOptions) {
  const basePath = new URL(options.client.endpoint).pathname.replace(/\/+$/, '')
  return async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = takeRequest(input, init)
    const pathname = pathOf(request.url, basePath)
    const found = findRoute(request.method, pathname)
    const dialect = found.kind === 'found' ? found.route.dialect : found.dialect
    try {
      if (found.kind === 'unknown') throw new ApiError('not_found', `unknown path ${pathname}`)
      if (found.kind === 'wrong_method') {
        throw new ApiError('method_not_allowed', `${pathname} accepts only ${found.allow}`)
      }
      const apiKey = readApiKey(request.headers) ?? options.apiKey ?? ''
      if (!isApiKey(apiKey)) throw new ApiError('invalid_api_key', 'no valid API key was given')
      if (!found.route.sealed) {
        const models = answerModels(options.client, apiKey, found.modelId)
        return await unlessAborted(models, request.signal)
      }
      return await callSealed(options, request, pathname, apiKey)
    } catch (error) {
      const shown = error instanceof AttestationError ? refusedError(error) : error
      if (shown instanceof ApiError) return errorResponse(dialect, shown)
      throw error // an abort is the caller's own and passes unchanged
    }
  }
}

/** The parts of a request that are used. */
type Taken = {
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly signal: AbortSignal | undefined
  bytes(): Promise<Bytes>
  /** The body's text, where it need not be decoded first. */
  readonly text?: string
}

/**
 * Official clients post text to a URL, which is used directly: reading the body back from a
 * `Request` costs a browser more than all the sealing. Every other form that `fetch` accepts takes
 * the slower path.
 */
function takeRequest(input: string | URL | Request, init: RequestInit | undefined): Taken {
  const { body, method, headers, signal } = init ?? {}
  const isAbsolute = !(input instanceof Request) && /^https?:/.test(String(input))
  if (isAbsolute && typeof body === 'string' && method?.toUpperCase() === 'POST') {
    return {
      url: String(input),
      method: 'POST',
      headers: new Headers(headers),
      signal: signal ?? undefined,
      bytes: async () => encodeText(body),
      text: body,
    }
  }
  const request =
    input instanceof Request ? new Request(input, init) : new Request(String(input), init)
  return {
    url: request.url,
    method: request.method,
    headers: request.headers,
    signal: request.signal,
    bytes: async () => new Uint8Array(await request.arrayBuffer()),
  }
}

/**
 * The public API path in a URL. It may start with the path of the endpoint and with `/v1` twice:
 * some clients expect `/v1` in the base URL, and others add it.
 */
function pathOf(url: string, basePath: string): string {
  const { pathname } = new URL(url)
  const path = pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : pathname
  return path.replace(/^\/v1\/v1\//, '/v1/')
}

/**
 * What a request says about how to send it. Whatever else is wrong with it is for the worker to
 * refuse, which scans the same bytes strictly.
 */
function readBody(bytes: Bytes, text?: string): Pick<Call, 'model' | 'stream' | 'cacheSalt'> {
  let body: Partial<Record<'model' | 'stream' | 'cache_salt', unknown>> | null
  try {
    body = JSON.parse(text ?? decodeText(bytes))
  } catch {
    throw new ApiError('invalid_json', 'body is not valid JSON')
  }
  const { model, stream, cache_salt: salt } = body ?? {}
  if (typeof model !== 'string') {
    throw new ApiError('missing_parameter', 'the request names no model', { param: 'model' })
  }
  return { model, stream: stream === true, cacheSalt: typeof salt === 'string' ? salt : undefined }
}

async function callSealed(
  options: PrivateFetchOptions,
  request: Taken,
  path: string,
  apiKey: string,
): Promise<Response> {
  const body = await request.bytes()
  const { model, stream, cacheSalt } = readBody(body, request.text)
  const { defaultSalt } = options
  const headers = readForwarded(request.headers)
  const call: Call = { path, model, body, stream, apiKey, cacheSalt, defaultSalt, headers }
  const answer = new ReceiptedAnswer(await options.client.exchange(call, request.signal), call)
  const init = {
    status: answer.head.status,
    headers: {
      ...answer.head.headers,
      'x-request-id': answer.requestId,
      'request-id': answer.requestId,
    },
  }
  const response = new Response(stream ? readableStream(answer) : await answer.whole(), init)
  answers.set(response, answer)
  return response
}

function readableStream(answer: ReceiptedAnswer): ReadableStream<Bytes> {
  return new ReadableStream({
    async pull(controller) {
      try {
        const data = await answer.next()
        if (data === undefined) controller.close()
        else for (const piece of data) controller.enqueue(piece)
      } catch (error) {
        controller.error(toPrivatemodeError(error, answer.requestId))
      }
    },
    cancel: () => answer.cancel(),
  })
}

async function answerModels(
  client: PrivateClient,
  apiKey: string,
  modelId: string | undefined,
): Promise<Response> {
  const models = (await client.models(apiKey)).map((facts) => formatModel(facts))
  if (modelId === undefined) return Response.json(formatModelList(models))
  return Response.json(requireModel(models, modelId))
}

/** The API key of a request: a bearer token, or `x-api-key`. */
export function readApiKey(headers: Headers): string | undefined {
  const authorization = headers.get('authorization')
  const bearer = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1]
  return bearer ?? headers.get('x-api-key') ?? undefined
}

function readForwarded(headers: Headers): Record<string, string> {
  const forwarded: Record<string, string> = {}
  for (const name of forwardedHeaders) {
    const value = headers.get(name)
    if (value !== null) forwarded[name] = value
  }
  return forwarded
}

function errorResponse(dialect: Dialect, error: ApiError): Response {
  const requestId = formatHex(crypto.getRandomValues(new Uint8Array(16)))
  const { status, headers, body } = formatError(dialect, error, requestId)
  return new Response(body, { status, headers })
}
