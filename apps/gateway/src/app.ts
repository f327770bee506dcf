/** The only place that routes requests and turns errors into answers. */
import {
  type HttpExchange,
  MessageError,
  parseFields,
  sendResponse,
  serveRequest,
} from '@privatemode/http'
import { ApiError, type ApiErrorCode, formatRelayError } from '@privatemode/protocol/api'
import { fleetBase, fleetPaths, requestIdShape, sealedHeaders } from '@privatemode/protocol/fleet'
import {
  describeError,
  type Log,
  metricsContentType,
  newRequestId,
  type OutboundFetch,
} from '@privatemode/service'
import type { AdminParts } from './admin/admin-route.ts'
import { answerAdmin } from './admin/admin-router.ts'
import { servePortal } from './files/portal-files.ts'
import { type StaticFiles, serveLogFile } from './files/static-files.ts'
import { bearerOf } from './http/bearer.ts'
import { clientAddress } from './http/client-address.ts'
import { LimitError } from './limits/limit-error.ts'
import { answerUsage, type UsageParts } from './metering/usage-routes.ts'
import type { GatewayMetrics } from './metrics/gateway-metrics.ts'
import { answerRegistry, type RegistryParts } from './registry/registry-routes.ts'
import { listDirectory } from './relay/directory.ts'
import { relayAttestation } from './relay/relay-attestation.ts'
import type { RelayParts } from './relay/relay-parts.ts'
import { relaySealed } from './relay/relay-sealed.ts'
import type { CheckToken } from './tokens/token-check.ts'

export type AppParts = {
  readonly relay: RelayParts
  readonly registry: RegistryParts
  readonly usage: UsageParts
  /** Used for requests to workers. */
  readonly fetch: OutboundFetch
  readonly tokens: Tokens
  readonly admin: AdminParts
  readonly manifestLog: StaticFiles | undefined
  readonly portal: StaticFiles | undefined
  readonly watching: Watching
  /** Number of load balancers in front that append to X-Forwarded-For. */
  readonly forwardedHops: number
  readonly attestationTimeoutMs: number
  /** Limit on concurrent requests and streams. */
  readonly maxRequests: number
  readonly log: Log
}

export type Tokens = {
  readonly admin: CheckToken
  readonly register: CheckToken
  /** Undefined: anyone who can reach the port may read metrics. */
  readonly metrics: CheckToken | undefined
}

export type Watching = {
  readonly metrics: GatewayMetrics
  readonly enabled: boolean
}

export type App = {
  begin(exchange: HttpExchange): void
  refuse(exchange: HttpExchange, error: MessageError): void
  /** Requests in progress. */
  running(): number
}

/** All bodies except sealed ones are small. */
const maxBodyBytes = 1024 * 1024

export function createApp(parts: AppParts): App {
  let running = 0
  const fail = (exchange: HttpExchange, error: unknown) => {
    answerError(exchange, error, parts).catch(() => exchange.cut())
  }
  const enter = (exchange: HttpExchange) => {
    if (running >= parts.maxRequests && !isProbe(exchange)) {
      const message = 'too many requests at once'
      throw new ApiError('overloaded', message, { retryAfterSeconds: 1 })
    }
    running++
  }
  const done = (exchange: HttpExchange, error: unknown) => {
    running--
    if (error !== undefined) fail(exchange, error)
  }
  // Counts only while it works: a client without a key must not fill the gateway by sending or reading slowly.
  const answer = async (exchange: HttpExchange, request: Request, peer: string) => {
    enter(exchange)
    try {
      const path = exchange.head.target.split('?', 1)[0] ?? ''
      const forwardedFor = request.headers.get('x-forwarded-for')
      const address = clientAddress(peer, forwardedFor, parts.forwardedHops)
      return await route(request, path, address, parts)
    } finally {
      running--
    }
  }
  return {
    begin(exchange) {
      const { target, method } = exchange.head
      if (target === fleetPaths.sealed && method !== 'OPTIONS') {
        try {
          enter(exchange)
        } catch (error) {
          fail(exchange, error)
          return
        }
        // The key is checked before the body is read.
        relaySealed(exchange, parts.relay, done)
        return
      }
      const handler = (request: Request, peer: string) => answer(exchange, request, peer)
      serveRequest(exchange, handler, maxBodyBytes).catch((error: unknown) =>
        fail(exchange, error ?? new Error('failed without a reason')),
      )
    },
    refuse(exchange, error) {
      fail(exchange, error)
    },
    running: () => running,
  }
}

/** A busy gateway is healthy: a probe that failed would have it killed, with all its requests. */
function isProbe({ head: { method, target } }: HttpExchange): boolean {
  return method === 'GET' && (target === '/health' || target === '/metrics')
}

async function route(
  request: Request,
  path: string,
  address: string,
  parts: AppParts,
): Promise<Response> {
  if (path === '/health') return onlyRead(request, () => Response.json({ status: 'ok' }))
  if (path === '/' && request.method === 'HEAD') return new Response(null)
  if (path.startsWith('/v1/')) {
    throw new ApiError(
      'not_found',
      'the gateway has no inference API, because it cannot read prompts: send this request to your privatemode-proxy or to the proxyless endpoint',
    )
  }
  if (path === '/metrics') return onlyRead(request, () => answerMetrics(request, parts))
  if (!path.startsWith(fleetBase))
    return servePortal(parts.portal, onlyGet(request, path), request.headers.get('accept-encoding'))
  const rest = path.slice(fleetBase.length)
  if (request.method === 'OPTIONS' && isForBrowsers(rest)) return preflight()
  if (rest.startsWith('log/')) {
    return onlyRead(request, () => serveLogFile(parts.manifestLog, rest.slice('log/'.length)))
  }
  if (rest.startsWith('admin/')) {
    const adminPath = rest.slice('admin'.length)
    const response = await answerAdmin(request, adminPath, address, parts.admin, parts.tokens.admin)
    response.headers.set('cache-control', 'no-store')
    return response
  }
  const bearer = bearerOf(request.headers.get('authorization'))
  if (rest === 'directory') {
    await parts.relay.keys.check(bearer)
    const list = () => Response.json(listDirectory(parts.relay.view.list()))
    return openToBrowsers(onlyRead(request, list))
  }
  const attested = /^workers\/([^/]+)\/attestation$/.exec(rest)?.[1]
  if (attested !== undefined) {
    const { keyId } = await parts.relay.keys.check(bearer)
    const response = await relayAttestation(onlyPost(request), attested, keyId, {
      view: parts.relay.view,
      fetch: parts.fetch,
      timeoutMs: parts.attestationTimeoutMs,
      keySharePercent: parts.relay.limits.keySharePercent,
    })
    return openToBrowsers(response)
  }
  if (rest === 'registry/usage') {
    parts.tokens.register(bearer)
    return answerUsage(onlyPost(request), parts.usage)
  }
  if (rest.startsWith('registry/workers/')) {
    parts.tokens.register(bearer)
    return answerRegistry(request, rest.slice('registry/workers/'.length), parts.registry)
  }
  throw new ApiError('not_found', 'no such path')
}

function answerError(
  exchange: HttpExchange,
  error: unknown,
  { log, watching }: AppParts,
): Promise<void> {
  if (exchange.over) return Promise.resolve()
  if (exchange.begun) return Promise.reject(error)
  const shown = showError(error)
  const given = exchange.head.fields.get(sealedHeaders.requestId) ?? ''
  const requestId = requestIdShape.test(given) ? given : newRequestId()
  const fields = { requestId, status: shown.status }
  watching.metrics.refusals.add(1, { status: String(shown.status), code: shown.code })
  if (shown.status < 500) log.debug('refused', { ...fields, code: shown.code })
  else log.warn('failed', { ...fields, ...describeError(error) })
  const { status, headers, body } = formatRelayError(shown, requestId)
  const response = openToBrowsers(new Response(body, { status, headers }))
  if (error instanceof LimitError) {
    for (const [name, value] of parseFields(error.fields, 0)) response.headers.set(name, value)
  }
  return sendResponse(exchange, response)
}

function showError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof MessageError) {
    if (error.status === 503)
      return new ApiError('overloaded', error.message, { retryAfterSeconds: 1 })
    return new ApiError(codeOf(error.status), error.message, { status: error.status })
  }
  return new ApiError('internal_error', 'the gateway failed; try again')
}

function codeOf(status: number): ApiErrorCode {
  if (status === 405) return 'method_not_allowed'
  return status === 413 ? 'request_too_large' : 'malformed'
}

/**
 * Endpoints that pages of any origin may call with a key: they ignore cookies, so no page can abuse
 * one.
 */
function isForBrowsers(rest: string): boolean {
  return rest === 'sealed' || rest === 'directory' || /^(workers|log)\//.test(rest)
}

function preflight(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': [
        ...['authorization', 'content-type'],
        ...Object.values(sealedHeaders),
      ].join(', '),
      'access-control-max-age': '86400',
    },
  })
}

const exposed = [
  'retry-after',
  'x-request-id',
  ...['requests', 'tokens'].flatMap((kind) =>
    ['limit', 'remaining', 'reset'].flatMap((what) => [
      `x-ratelimit-${what}-${kind}`,
      `anthropic-ratelimit-${kind}-${what}`,
    ]),
  ),
].join(', ')

function openToBrowsers(response: Response): Response {
  response.headers.set('access-control-allow-origin', '*')
  response.headers.set('access-control-expose-headers', exposed)
  return response
}

function answerMetrics(request: Request, { watching, tokens }: AppParts): Response {
  if (!watching.enabled) throw new ApiError('not_found', 'not found')
  tokens.metrics?.(bearerOf(request.headers.get('authorization')))
  return new Response(watching.metrics.format(), {
    headers: { 'content-type': metricsContentType },
  })
}

function onlyGet(request: Request, path: string): string {
  if (request.method === 'GET' || request.method === 'HEAD') return path
  throw new ApiError('not_found', 'no such path')
}

function onlyRead(request: Request, answer: () => Response): Response {
  if (request.method === 'GET' || request.method === 'HEAD') return answer()
  throw new ApiError('method_not_allowed', 'this path accepts GET and HEAD only')
}

function onlyPost(request: Request): Request {
  if (request.method === 'POST') return request
  throw new ApiError('method_not_allowed', 'this path accepts POST only')
}
