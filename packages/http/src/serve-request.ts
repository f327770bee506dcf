/** Serves an exchange with a `Request`/`Response` handler, for everything except the relay. */

import { STATUS_CODES } from 'node:http'
import { type ByteRange, viewOf } from './byte-range.ts'
import type { HttpExchange } from './http-exchange.ts'
import { MessageError } from './message-error.ts'

export type RequestHandler = (request: Request, address: string) => Promise<Response>

/** A `Request` with any other method would become a GET. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Bytes collected before an answer without a length is streamed. */
const joinBytes = 256 * 1024

export async function serveRequest(
  exchange: HttpExchange,
  handler: RequestHandler,
  maxBodyBytes: number,
): Promise<void> {
  if (!methods.has(exchange.head.method)) throw new MessageError(405, 'unknown method')
  exchange.invite()
  const body = await exchange.body.whole(maxBodyBytes)
  const gone = new AbortController()
  exchange.onGone = () => gone.abort()
  const response = await handler(toRequest(exchange, body, gone.signal), exchange.address)
  await sendResponse(exchange, response)
}

function toRequest(exchange: HttpExchange, body: ByteRange, signal: AbortSignal): Request {
  const { method, target, fields } = exchange.head
  const headers = new Headers()
  for (const [name, value] of fields) {
    if (!connectionFields.has(name)) headers.set(name, value)
  }
  // The host comes from the client and decides nothing; a URL just needs one.
  return new Request(`http://localhost${target}`, {
    method,
    headers,
    signal,
    ...(method === 'GET' || method === 'HEAD' ? {} : { body: new Uint8Array(viewOf(body)) }),
  })
}

/** These describe the connection, which ends here. */
const connectionFields = new Set(['connection', 'content-length', 'expect', 'transfer-encoding'])

export async function sendResponse(exchange: HttpExchange, response: Response): Promise<void> {
  const head = formatHead(response)
  const reader = response.body?.getReader()
  if (exchange.head.method === 'HEAD' || reader === undefined) {
    await reader?.cancel()
    // RFC 9110, 8.6: no length if there can be no body, or if it would be that of a different one.
    const bare = exchange.head.method === 'HEAD' || response.status === 204
    exchange.begin(bare ? head : `${head}content-length: 0\r\n`)
    return exchange.finish()
  }
  const parts: Uint8Array[] = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) {
      exchange.begin(`${head}content-length: ${size}\r\n`, spanOf(Buffer.concat(parts)))
      return exchange.finish()
    }
    parts.push(value)
    size += value.length
    if (size > joinBytes) break
  }
  await sendStream(exchange, head, Buffer.concat(parts), reader)
}

/** HTTP/1.0 has no chunks: closing the connection ends the body. */
async function sendStream(
  exchange: HttpExchange,
  head: string,
  first: Buffer,
  reader: Pick<ReadableStreamDefaultReader<Uint8Array>, 'read' | 'cancel'>,
): Promise<void> {
  const chunked = exchange.head.minorVersion === 1
  const frame = chunked
    ? formatChunk
    : (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const onGone = exchange.onGone
  exchange.onGone = () => {
    onGone?.()
    void reader.cancel()
  }
  try {
    let open = exchange.begin(
      `${head}${chunked ? 'transfer-encoding: chunked\r\n' : ''}`,
      spanOf(frame(first)),
    )
    for (;;) {
      if (!open) await new Promise<void>((resolve) => exchange.whenDrained(resolve))
      const { done, value } = await reader.read()
      if (exchange.over) {
        // It may have been over before `onGone` was set.
        await reader.cancel()
        return
      }
      if (done) break
      open = value.length === 0 || exchange.write(frame(value))
    }
    if (chunked) exchange.write(Buffer.from('0\r\n\r\n'))
    exchange.finish()
  } catch {
    exchange.cut()
  }
}

const spanOf = (bytes: Buffer): ByteRange => ({ bytes, start: 0, end: bytes.length })

function formatChunk(bytes: Uint8Array): Buffer {
  return Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from('\r\n'),
  ])
}

/** Status line and fields; `Headers` has already refused line breaks. */
export function formatHead(response: Response): string {
  let head = `HTTP/1.1 ${response.status} ${reasonOf(response.status)}\r\n`
  for (const [name, value] of response.headers) {
    if (!connectionFields.has(name)) head += `${name}: ${value}\r\n`
  }
  return head
}

/** Clients ignore reason phrases (RFC 9112, 4); these are for people using curl. */
export function reasonOf(status: number): string {
  return STATUS_CODES[status] ?? 'Unknown'
}
