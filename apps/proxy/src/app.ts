/** Routes requests; the only place that turns errors into answers in the caller's dialect. */
import { type HttpExchange, type MessageError, sendResponse, whenReady } from '@privatemode/http'
import {
  ApiError,
  type Dialect,
  dialectOf,
  type FoundRoute,
  findRoute,
  formatError,
} from '@privatemode/protocol/api'
import { describeError, newRequestId, requestIdHeaders } from '@privatemode/service'
import type { App } from './app-state.ts'
import { padWhole } from './exchange/answer-writer.ts'
import { toApiError } from './exchange/api-error.ts'
import { formatResponseHead } from './exchange/response-head.ts'
import { sendSealed } from './exchange/send-sealed.ts'
import { serveModels } from './exchange/serve-models.ts'
import { answerPreflight } from './inbound/cross-origin.ts'
import type { Guard } from './inbound/guard.ts'
import type { LocalRoutes } from './inbound/local-routes.ts'
import { RequestRecord } from './inbound/request-record.ts'

export type AppParts = {
  readonly app: App
  /** Present in local mode. */
  readonly guard: Guard | undefined
  readonly localRoutes: LocalRoutes
}

/** Answers one request. */
export function handle({ app, guard, localRoutes }: AppParts, exchange: HttpExchange): void {
  const { method, target, fields } = exchange.head
  const path = pathOf(target)
  const refusal = guard?.(fields)
  if (refusal === undefined) {
    const own =
      guard === undefined && method === 'OPTIONS'
        ? answerPreflight(fields)
        : localRoutes(method, path, fields.get('host'))
    if (own !== undefined) {
      whenReady(
        own,
        (response) => send(app, exchange, response),
        (error) => failInside(app, exchange, error),
      )
      return
    }
  }
  const found = findRoute(method, path)
  const record = new RequestRecord(newRequestId(), method, nameOf(found))
  const answerError = (error: unknown) =>
    sendError(app, exchange, dialectOf(path), error, record, found)
  try {
    if (refusal !== undefined) throw refusal
    answer(app, exchange, found, record, answerError)
  } catch (error) {
    answerError(error)
  }
}

/** Answers a message that is not a request: without a path, only the common dialect applies. */
export function refuse(app: App, exchange: HttpExchange, error: MessageError): void {
  const record = new RequestRecord(newRequestId(), exchange.head.method, '(none)')
  sendError(app, exchange, 'openai', error, record, undefined)
}

function answer(
  app: App,
  exchange: HttpExchange,
  found: FoundRoute,
  record: RequestRecord,
  answerError: (error: unknown) => void,
): void {
  switch (found.kind) {
    case 'unknown':
      throw new ApiError('not_found', 'there is no such path; see GET /v1/models for a start')
    case 'wrong_method':
      throw new ApiError('method_not_allowed', `this path accepts ${found.allow}`)
    case 'found':
      if (found.route.sealed) {
        sendSealed(app, exchange, found.route, record, answerError)
        return
      }
      serveModels(app, exchange.head.fields, found.modelId, record).then(
        (response) => send(app, exchange, response),
        answerError,
      )
  }
}

/** An unknown path is untrusted text and stays out of log and metrics. */
function nameOf(found: FoundRoute): string {
  return found.kind === 'found' ? found.route.path : '(none)'
}

function sendError(
  app: App,
  exchange: HttpExchange,
  dialect: Dialect,
  error: unknown,
  record: RequestRecord,
  found: FoundRoute | undefined,
): void {
  const gone = exchange.over
  const shown = toApiError(error)
  const wire = formatError(dialect, shown, record.requestId)
  record.status = gone ? 499 : wire.status
  if (isOperators(shown) && !gone) {
    app.log.error('request failed inside the proxy', {
      requestId: record.requestId,
      ...describeError(error),
    })
  }
  const headers: Record<string, string> = { ...app.everyHeader, ...wire.headers }
  if (found?.kind === 'wrong_method') headers.allow = found.allow
  const body = padWhole(Buffer.from(wire.body), headers, app.leg)
  record.sent(body.length)
  record.dump?.end(record.requestId, wire.status, headers, [body])
  const head = `${formatResponseHead(wire.status, headers)}content-length: ${body.length}\r\n`
  const bodyless = exchange.head.method === 'HEAD'
  exchange.begin(head, { bytes: body, start: 0, end: bodyless ? 0 : body.length })
  exchange.finish()
  const outcome = gone ? 'aborted' : wire.status >= 500 ? 'failed' : 'refused'
  record.close(outcome, gone ? 'client_gone' : shown.code, app.log, app.metrics)
}

/** Whether the proxy's operator has to fix it, so that it belongs in the log. */
const isOperators = ({ code }: ApiError) =>
  code === 'internal_error' || code === 'workspace_unwritable'

/** Sends a small response of our own. */
function send(app: App, exchange: HttpExchange, response: Response): void {
  const id = response.headers.get('x-request-id') ?? newRequestId()
  for (const [name, value] of Object.entries({ ...app.everyHeader, ...requestIdHeaders(id) })) {
    response.headers.set(name, value)
  }
  sendResponse(exchange, response).catch((error: unknown) => failInside(app, exchange, error))
}

function failInside(app: App, exchange: HttpExchange, error: unknown): void {
  app.log.error('request failed inside the proxy', describeError(error))
  exchange.cut()
}

function pathOf(target: string): string {
  const query = target.indexOf('?')
  return query < 0 ? target : target.slice(0, query)
}
