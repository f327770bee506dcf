/** HTTP/1.1 server and client over plain sockets, for programs that have HTTP on their hot path. */

export { type ByteRange, emptyRange, joinRanges, viewOf } from './byte-range.ts'
export { ChunkedScanner } from './chunked.ts'
export { ClientConnection } from './client-connection.ts'
export type { ConnectionLimits } from './connection-context.ts'
export { ErrorBody } from './error-body.ts'
export { type ForwardEnd, ForwardedAnswer, type ForwardOwner } from './forwarded-answer.ts'
export { Fields, type HeaderLookup, hasToken, parseFields } from './head-fields.ts'
export { HttpExchange } from './http-exchange.ts'
export { type HttpServer, type HttpServerOptions, serveHttp, type Tls } from './http-server.ts'
export { explainListenError, ListenError, type ListenErrorCode } from './listen-error.ts'
export { MessageError } from './message-error.ts'
export { probePort } from './probe-port.ts'
export { releaseBehind, releaseBytes, releaseOwnBytes } from './release-bytes.ts'
export { type BodySink, RequestBody } from './request-body.ts'
export type { RequestHead } from './request-head.ts'
export type { ResponseHead } from './response-head.ts'
export { chunkSink, sendPieces } from './send-pieces.ts'
export { type ExchangeServer, serveExchanges } from './serve-exchanges.ts'
export { type RequestHandler, reasonOf, sendResponse, serveRequest } from './serve-request.ts'
export {
  type AnswerSink,
  type Failure,
  UpstreamConnection,
  type UpstreamMessage,
} from './upstream-connection.ts'
export {
  type PooledSink,
  type PoolLimits,
  type PoolOptions,
  UpstreamPool,
} from './upstream-pool.ts'
export { whenReady } from './when-ready.ts'
