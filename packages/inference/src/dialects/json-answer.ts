/** A complete JSON body as an answer. */
import type { JsonObject } from '../engine.ts'
import type { ApiAnswer, Exchange } from './api-request.ts'

const encoder = new TextEncoder()

export function jsonAnswer(exchange: Exchange, body: JsonObject): ApiAnswer {
  return {
    status: 200,
    headers: { ...exchange.headers, 'content-type': 'application/json' },
    body: encoder.encode(JSON.stringify(body)),
    usage: () => exchange.meter.read(),
    outcome: () => 'complete',
  }
}
