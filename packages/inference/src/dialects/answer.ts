/** Answers one public API request with an engine. */
import {
  ApiError,
  type Dialect,
  dialectOf,
  type Endpoint,
  findRoute,
  formatError,
  type Route,
} from '@privatemode/protocol/api'
import type { Engine, JsonObject } from '../engine.ts'
import {
  type ApiAnswer,
  type ApiRequest,
  type ApiTimes,
  defaultTimes,
  type Exchange,
} from './api-request.ts'
import { chooseCacheSalt } from './cache-salt.ts'
import { completionsDeprecation, latestDeprecation } from './deprecation.ts'
import { hideUnknown, toApiError } from './engine-failure.ts'
import { refuseForbiddenFields } from './forbidden-fields.ts'
import { answerCountTokens } from './messages/count-tokens.ts'
import { answerMessages } from './messages/messages.ts'
import { answerChat } from './openai/chat.ts'
import { answerCompletion } from './openai/completions.ts'
import { answerEmbeddings } from './openai/embeddings.ts'
import { newId } from './openai/new-id.ts'
import { parseBody } from './parse-body.ts'
import { resolveModel } from './resolve-model.ts'
import { answerResponses } from './responses/responses.ts'
import { UsageMeter } from './usage-meter.ts'

/** Never throws: every failure becomes an answer in the caller's dialect. */
export async function answer(
  request: ApiRequest,
  engine: Engine,
  signal: AbortSignal,
  times: ApiTimes = defaultTimes,
): Promise<ApiAnswer> {
  const pathname = request.path.split('?', 1)[0] ?? ''
  const requestId = request.requestId ?? newId('req_')
  const meter = new UsageMeter()
  let exchange: Exchange | undefined
  let deprecation: Readonly<Record<string, string>> = {}
  try {
    const route = requireRoute(pathname)
    if (route.deprecated) deprecation = completionsDeprecation
    exchange = openExchange(route, request, engine, { requestId, meter, times, signal })
    return await dispatch(route.endpoint, exchange)
  } catch (thrown) {
    const error = exchange === undefined ? hideUnknown(thrown) : toApiError(thrown, exchange)
    await meter.settling
    const failed = errorAnswer(dialectOf(pathname), error, requestId, meter, signal)
    return { ...failed, headers: { ...deprecation, ...exchange?.headers, ...failed.headers } }
  }
}

function requireRoute(pathname: string): Route {
  const found = findRoute('POST', pathname)
  if (found.kind === 'found' && found.route.sealed) return found.route
  throw new ApiError('not_found', 'workers do not serve this path')
}

type Circumstances = Pick<Exchange, 'requestId' | 'meter' | 'times' | 'signal'>

function openExchange(
  route: Route,
  request: ApiRequest,
  engine: Engine,
  circumstances: Circumstances,
): Exchange {
  const body = readBody(request.body)
  refuseForbiddenFields(body)
  const task = route.endpoint === 'embeddings' ? 'embed' : 'generate'
  const resolved = resolveModel(body, task, engine.models(), request.boundModel)
  return {
    ...circumstances,
    dialect: route.dialect,
    body,
    stream: body.stream === true,
    engine,
    model: resolved.model,
    cacheSalt: chooseCacheSalt(body.cache_salt, request.defaultCacheSalt),
    keepPrefix: (body.cache_salt ?? request.defaultCacheSalt) !== undefined,
    caller: request.caller,
    headers: {
      'x-request-id': circumstances.requestId,
      'request-id': circumstances.requestId,
      ...(route.deprecated ? completionsDeprecation : {}),
      ...(resolved.byDeprecatedName ? latestDeprecation(resolved.model.id) : {}),
    },
  }
}

function readBody(body: ApiRequest['body']): JsonObject {
  if (body instanceof Uint8Array) return parseBody(body)
  if (body.json === undefined) throw body.error
  return body.json
}

function dispatch(endpoint: Endpoint, exchange: Exchange): Promise<ApiAnswer> {
  switch (endpoint) {
    case 'chat':
      return answerChat(exchange)
    case 'completions':
      return answerCompletion(exchange)
    case 'embeddings':
      return answerEmbeddings(exchange)
    case 'messages':
      return answerMessages(exchange)
    case 'count_tokens':
      return answerCountTokens(exchange)
    case 'responses':
      return answerResponses(exchange)
    case 'models':
    case 'model':
      throw new ApiError('not_found', 'this path is answered by the client, not by a worker')
  }
}

const encoder = new TextEncoder()

function errorAnswer(
  dialect: Dialect,
  error: ApiError,
  requestId: string,
  meter: UsageMeter,
  signal: AbortSignal,
): ApiAnswer {
  const wire = formatError(dialect, error, requestId)
  return {
    status: wire.status,
    headers: wire.headers,
    body: encoder.encode(wire.body),
    usage: () => meter.read(),
    outcome: () => (signal.aborted ? 'aborted' : 'failed'),
  }
}
