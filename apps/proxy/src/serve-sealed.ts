/** Answers one call of the public API: read, scan, seal, send, open. The hot path. */
import { ApiError, type Route, scanBody } from '@privatemode/protocol/api'
import type { Answer } from '@privatemode/sdk'
import { readBody } from '@privatemode/service'
import type { App } from './app-state.ts'
import { chooseApiKey } from './credentials.ts'
import { pickInward, pickOutward } from './outward-headers.ts'
import { relayEvents } from './relay-events.ts'
import type { RequestRecord } from './request-record.ts'

const eventStream = 'text/event-stream'

export async function serveSealed(
  app: App,
  request: Request,
  route: Route,
  record: RequestRecord,
): Promise<Response> {
  const { headers } = request
  const apiKey = chooseApiKey(headers, app.apiKey)
  checkMediaType(headers.get('content-type'))
  const body = await readBody(request, app.bodyLimitBytes)
  record.bytesIn = body.length
  record.dump = app.dump?.begin(request.method, route.path, headers, body)
  const { model, stream, cacheSalt } = scanBody(body)
  if (model === undefined) {
    throw new ApiError('missing_parameter', 'the request has no model', { param: 'model' })
  }
  const answer = await app.client.exchange(
    {
      path: route.path,
      model,
      body,
      stream,
      apiKey,
      cacheSalt,
      defaultSalt: app.defaultSalt(apiKey),
      headers: pickOutward(headers),
    },
    request.signal,
  )
  record.requestId = answer.requestId
  record.model = model
  record.status = answer.head.status
  const answerHeaders = pickInward(answer.head.headers)
  answerHeaders['x-request-id'] = answer.requestId
  answerHeaders['request-id'] = answer.requestId
  if (app.everyHeader !== undefined) Object.assign(answerHeaders, app.everyHeader)
  if (isEventStream(answer)) {
    answerHeaders['cache-control'] = 'no-cache'
    answerHeaders['x-accel-buffering'] = 'no'
    const events = relayEvents({
      app,
      answer,
      dialect: route.dialect,
      record,
      signal: request.signal,
      headers: answerHeaders,
    })
    return new Response(events, { status: answer.head.status, headers: answerHeaders })
  }
  // Held until its end is authenticated: an answer that was cut is an error, never a short answer.
  const whole = await answer.whole()
  record.sent(whole.length)
  record.close('complete', undefined, app.log, app.metrics)
  record.dump?.end(record.requestId, record.status, answerHeaders, [whole])
  return new Response(whole, { status: answer.head.status, headers: answerHeaders })
}

function isEventStream(answer: Answer): boolean {
  return answer.head.headers['content-type']?.startsWith(eventStream) === true
}

/** A body without a type is taken as JSON; what says to be something else is refused. */
function checkMediaType(type: string | null): void {
  if (type === null || type.startsWith('application/json')) return
  const [essence = ''] = type.split(';')
  if (essence.trim().toLowerCase() === 'application/json') return
  throw new ApiError('unsupported_media_type', 'the content-type must be application/json')
}
