/**
 * Handles a public API call: checks key and media type, reads and scans the body, and passes it on
 * for sealing.
 */
import { type HttpExchange, viewOf, whenReady } from '@privatemode/http'
import { ApiError, BodyScanner, type Route } from '@privatemode/protocol/api'
import { decodeBody, giveTurn } from '@privatemode/service'
import type { App } from '../app-state.ts'
import { chooseApiKey } from '../inbound/credentials.ts'
import { pickOutward } from '../inbound/outward-headers.ts'
import type { RequestRecord } from '../inbound/request-record.ts'
import { ProxiedCall } from './proxied-call.ts'

export function sendSealed(
  app: App,
  exchange: HttpExchange,
  route: Route,
  record: RequestRecord,
  answerError: (error: unknown) => void,
): void {
  const { fields } = exchange.head
  const apiKey = chooseApiKey(fields, app.apiKey)
  checkMediaType(fields.get('content-type'))
  const encoding = fields.get('content-encoding')
  const limitBytes = app.bodyLimitBytes
  const scanner = new BodyScanner()
  // A compressed body can be scanned only once it is decoded.
  const scan = (received: Uint8Array) => scanner.push(received)
  // What it takes decoded counts as well: a few kilobytes may become the longest body allowed.
  const reserve = (bytes: number) => exchange.body.reserve(bytes)
  const wholeBody = exchange.body.whole(limitBytes, encoding === undefined ? scan : undefined)
  exchange.invite()
  whenReady(
    wholeBody,
    (span) =>
      whenReady(
        decodeBody(viewOf(span) as Uint8Array<ArrayBuffer>, encoding, limitBytes, reserve),
        (body) => whenReady(turnFor(body, apiKey), () => sealAndSend(body), answerError),
        answerError,
      ),
    answerError,
  )

  function sealAndSend(body: Uint8Array<ArrayBuffer>): void {
    record.bytesIn = body.length
    record.dump = app.dump?.begin(route.method, route.path, fields, body)
    const { model, stream, cacheSalt } = scanner.finish(body)
    if (model === undefined) {
      throw new ApiError('missing_parameter', 'the request has no model', { param: 'model' })
    }
    const { dialect, path } = route
    const defaultSalt = app.defaultSalt(apiKey)
    const headers = pickOutward(fields)
    const call = { path, model, body, stream, apiKey, cacheSalt, defaultSalt, headers }
    new ProxiedCall({ app, exchange, dialect, record, call, answerError }).start()
  }
}

/** Shorter bodies are scanned at once. */
const longBytes = 64 * 1024

/** Scanning 32 MB that came in chunks or compressed takes up to 60 ms: others are served before the next one. */
function turnFor({ length }: Uint8Array, apiKey: string): Promise<void> | undefined {
  return length > longBytes ? giveTurn(apiKey) : undefined
}

/** A body without a type is treated as JSON; any other declared type is refused. */
function checkMediaType(type: string | undefined): void {
  if (type === undefined || type === 'application/json') return
  const [essence = ''] = type.split(';')
  if (essence.trim().toLowerCase() === 'application/json') return
  throw new ApiError('unsupported_media_type', 'the content-type must be application/json')
}
