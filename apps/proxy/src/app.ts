/** Routes requests and turns errors into answers in the caller's dialect: the one place that does. */
import {
  ApiError,
  type Dialect,
  dialectOf,
  type FoundRoute,
  findRoute,
  formatError,
} from '@privatemode/protocol/api'
import { describeError, type Handler, newRequestId, requestIdHeaders } from '@privatemode/service'
import { toApiError } from './api-error.ts'
import type { App } from './app-state.ts'
import { answerPreflight } from './cross-origin.ts'
import type { Guard } from './guard.ts'
import type { LocalRoutes } from './local-routes.ts'
import { RequestRecord } from './request-record.ts'
import { serveModels } from './serve-models.ts'
import { serveSealed } from './serve-sealed.ts'

export type AppParts = {
  readonly app: App
  /** Present in local mode. */
  readonly guard: Guard | undefined
  readonly localRoutes: LocalRoutes
}

/** Makes the handler of all requests. */
export function createHandler({ app, guard, localRoutes }: AppParts): Handler {
  return (request, peer) => {
    const path = pathOf(request.url)
    const refusal = guard?.(request.headers)
    if (refusal === undefined) {
      if (guard === undefined && request.method === 'OPTIONS') return answerPreflight(request)
      const local = localRoutes(request, path)
      if (local !== undefined) return withHeaders(local, app.everyHeader)
    }
    // From here on a generation may be silent for long; the client's own patience is the limit.
    peer.idle(0)
    const found = findRoute(request.method, path)
    const record = new RequestRecord(newRequestId(), request.method, nameOf(found))
    const answering = refusal === undefined ? answer(app, request, found, record) : fail(refusal)
    return answering.catch((error: unknown) => {
      const response = answerError(app, dialectOf(path), error, record, request.signal.aborted)
      if (found.kind === 'wrong_method') response.headers.set('allow', found.allow)
      return response
    })
  }
}

async function answer(
  app: App,
  request: Request,
  found: FoundRoute,
  record: RequestRecord,
): Promise<Response> {
  switch (found.kind) {
    case 'unknown':
      throw new ApiError('not_found', 'there is no such path; see GET /v1/models for a start')
    case 'wrong_method':
      throw new ApiError('method_not_allowed', `this path takes ${found.allow}`)
    case 'found':
      return found.route.sealed
        ? serveSealed(app, request, found.route, record)
        : serveModels(app, request, found.modelId, record)
  }
}

/** A path that is no route of ours is a stranger's text and stays out of log and metrics. */
function nameOf(found: FoundRoute): string {
  return found.kind === 'found' ? found.route.path : '(none)'
}

function answerError(
  app: App,
  dialect: Dialect,
  error: unknown,
  record: RequestRecord,
  clientGone: boolean,
): Response {
  const shown = toApiError(error)
  const wire = formatError(dialect, shown, record.requestId)
  record.status = clientGone ? 499 : wire.status
  if (shown.code === 'internal_error' && !clientGone) {
    app.log.error('request failed inside the proxy', {
      requestId: record.requestId,
      ...describeError(error),
    })
  }
  const outcome = clientGone ? 'aborted' : wire.status >= 500 ? 'failed' : 'refused'
  record.sent(wire.body.length)
  record.close(outcome, clientGone ? 'client_gone' : shown.code, app.log, app.metrics)
  const headers = { ...app.everyHeader, ...wire.headers }
  record.dump?.end(record.requestId, wire.status, headers, [Buffer.from(wire.body)])
  return new Response(wire.body, { status: wire.status, headers })
}

function withHeaders(
  response: Response,
  extra: Readonly<Record<string, string>> | undefined,
): Response {
  const requestId = newRequestId()
  for (const [name, value] of Object.entries({ ...extra, ...requestIdHeaders(requestId) })) {
    response.headers.set(name, value)
  }
  return response
}

function fail(error: ApiError): Promise<never> {
  return Promise.reject(error)
}

/** The path of an absolute URL, without its query; cheaper than a `URL`. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  if (start < 0) return '/'
  const query = url.indexOf('?', start)
  return query < 0 ? url.slice(start) : url.slice(start, query)
}
