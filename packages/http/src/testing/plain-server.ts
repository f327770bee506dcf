/** An HTTP server for tests: serves a handler, and answers refused messages with a bare status. */
import type { HttpExchange } from '../http-exchange.ts'
import { type HttpServer, type HttpServerOptions, serveHttp } from '../http-server.ts'
import { serveRequest } from '../serve-request.ts'

export type PlainHandler = (request: Request) => Response | Promise<Response>

const limits = { connections: 20, idleSeconds: 60, headSeconds: 60, stallSeconds: 60 }

export function startPlainServer(
  handler: PlainHandler,
  maxBodyBytes: number,
  changes: Partial<HttpServerOptions['limits']> = {},
): HttpServer {
  return serveHttp({
    hostname: '127.0.0.1',
    port: 0,
    tls: undefined,
    limits: { ...limits, ...changes },
    begin: (exchange) => {
      serveRequest(exchange, async (request) => handler(request), maxBodyBytes).catch((error) =>
        answerPlainly(exchange, (error as { status?: number }).status ?? 500),
      )
    },
    refuse: (exchange, error) => answerPlainly(exchange, error.status),
  })
}

function answerPlainly(exchange: HttpExchange, status: number): void {
  exchange.begin(`HTTP/1.1 ${status} Refused\r\ncontent-length: 0\r\n`)
  exchange.finish()
}
