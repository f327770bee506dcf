/** Sends sealed answers, and errors in clear, over their exchange. */
import { type HttpExchange, reasonOf, releaseOwnBytes } from '@privatemode/http'
import { ApiError, formatRelayError } from '@privatemode/protocol/api'
import type { Bytes } from '@privatemode/protocol/envelope'
import { sealedMediaType } from '@privatemode/protocol/fleet'
import type { SealedReply } from './answer-sealed.ts'
import type { Sink } from './seal-stream.ts'

const head = `HTTP/1.1 200 OK\r\ncontent-type: ${sealedMediaType}\r\n`

/** Resolves when the answer was sent; rejects, with the connection cut, if it cannot be completed. */
export async function sendSealed(exchange: HttpExchange, reply: SealedReply): Promise<void> {
  if (reply.kind === 'whole') {
    const { pieces } = reply
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
    exchange.beginPieces(`${head}content-length: ${length}\r\n`, pieces)
    release(pieces)
    exchange.finish()
    return
  }
  exchange.onGone = () => reply.cancel()
  try {
    await reply.seal(sinkOf(exchange))
  } catch (error) {
    if (exchange.begun) exchange.cut()
    throw error
  }
}

/** The first bytes are sent with the head, so that the reader wakes once for both. */
function sinkOf(exchange: HttpExchange): Sink {
  return (pieces, isLast) => {
    if (exchange.over) throw new ApiError('internal_error', 'the reader disconnected')
    let isRead = true
    if (!exchange.begun) isRead = exchange.beginChunks(head, pieces)
    else if (isLast) exchange.endChunks(pieces)
    else isRead = exchange.writeChunk(pieces)
    release(pieces)
    if (!isRead) return new Promise<void>((resolve) => exchange.whenDrained(resolve))
    return undefined
  }
}

/** They were sent or copied. Each is a cipher's own output, or short. */
function release(pieces: readonly Bytes[]): void {
  for (const piece of pieces) releaseOwnBytes(piece)
}

/** For requests that could not be opened. */
export function sendClearError(exchange: HttpExchange, error: ApiError, requestId: string): void {
  const { status, headers, body } = formatRelayError(error, requestId)
  const bytes = Buffer.from(body)
  let fields = `HTTP/1.1 ${status} ${reasonOf(status)}\r\ncontent-length: ${bytes.length}\r\n`
  for (const name in headers) fields += `${name}: ${headers[name]}\r\n`
  exchange.begin(fields, { bytes, start: 0, end: bytes.length })
  exchange.finish()
}
