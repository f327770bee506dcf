/** The one place that routes requests and turns errors into answers. */
import { ApiError, formatRelayError } from '@privatemode/protocol/api'
import { describeError, type Handler, type Log, newRequestId } from '@privatemode/service'
import { answerKeys } from './admin/key-routes.ts'
import { type StaticFiles, serveLogFile } from './files/static-files.ts'
import { bearerOf } from './http/bearer.ts'
import type { CheckOperator } from './operator/operator-token.ts'
import { answerRegistry, type RegistryParts } from './registry/registry-routes.ts'
import { listDirectory } from './relay/directory.ts'
import { relayAttestation } from './relay/relay-attestation.ts'
import { type RelayParts, relaySealed } from './relay/relay-sealed.ts'

export type AppParts = {
  readonly relay: RelayParts
  readonly registry: RegistryParts
  readonly checkOperator: CheckOperator
  readonly manifestLog: StaticFiles | undefined
  readonly attestationTimeoutMs: number
  readonly log: Log
}

const base = '/privatemode/v1/'

export function createApp(parts: AppParts): Handler {
  return async (request, peer) => {
    const path = pathOf(request.url)
    try {
      if (path === `${base}sealed`) {
        // The relay has its own limits of silence; the listener's would cut a long prefill.
        peer.idle(0)
        return await relaySealed(onlyMethod(request, 'POST'), parts.relay)
      }
      return await route(request, path, parts)
    } catch (error) {
      return answerError(request, error, parts.log)
    }
  }
}

async function route(request: Request, path: string, parts: AppParts): Promise<Response> {
  if (path === '/health') return Response.json({ status: 'ok' })
  if (path === '/' && request.method === 'HEAD') return new Response(null)
  if (!path.startsWith(base)) throw new ApiError('not_found', 'there is nothing here')
  const rest = path.slice(base.length)
  if (rest.startsWith('log/')) {
    return serveLogFile(parts.manifestLog, rest.slice('log/'.length))
  }
  if (rest === 'directory') {
    await parts.relay.keys.check(bearerOf(request.headers))
    return Response.json(listDirectory(parts.relay.view.list()))
  }
  const attested = /^workers\/([^/]+)\/attestation$/.exec(rest)?.[1]
  if (attested !== undefined) {
    await parts.relay.keys.check(bearerOf(request.headers))
    return relayAttestation(onlyMethod(request, 'POST'), attested, {
      view: parts.relay.view,
      fetch: parts.relay.fetch,
      timeoutMs: parts.attestationTimeoutMs,
    })
  }
  if (rest.startsWith('registry/workers/')) {
    parts.checkOperator(bearerOf(request.headers))
    return answerRegistry(request, rest.slice('registry/workers/'.length), parts.registry)
  }
  if (rest === 'admin/keys' || rest.startsWith('admin/keys/')) {
    parts.checkOperator(bearerOf(request.headers))
    return answerKeys(request, rest.slice('admin/keys/'.length), parts.registry.database)
  }
  throw new ApiError('not_found', 'there is nothing here')
}

function answerError(request: Request, error: unknown, log: Log): Response {
  const known = error instanceof ApiError
  const shown = known ? error : new ApiError('internal_error', 'the gateway failed; try again')
  const requestId = request.headers.get('privatemode-request-id') ?? newRequestId()
  const fields = { requestId: requestId.slice(0, 32), status: shown.status }
  if (known && shown.status < 500) log.debug('refused', { ...fields, code: shown.code })
  else log.warn('failed', { ...fields, ...describeError(error) })
  const { status, headers, body } = formatRelayError(shown, requestId.slice(0, 32))
  return new Response(body, { status, headers })
}

function onlyMethod(request: Request, method: string): Request {
  if (request.method === method) return request
  throw new ApiError('method_not_allowed', `this takes ${method} only`)
}

/** The path without query; Bun hands over an absolute URL. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2)
  const query = url.indexOf('?', start)
  return query < 0 ? url.slice(start) : url.slice(start, query)
}
