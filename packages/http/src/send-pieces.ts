/** Sends answers in pieces that are freed as soon as they are sent or copied. */
import type { HttpExchange } from './http-exchange.ts'
import { releaseOwnBytes } from './release-bytes.ts'

/** Each piece has its own memory, or is short. */
type Pieces = readonly Uint8Array[]

/** Sends a whole answer; `head` has its status line and fields, except the length. */
export function sendPieces(exchange: HttpExchange, head: string, pieces: Pieces): void {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  exchange.beginPieces(`${head}content-length: ${length}\r\n`, pieces)
  release(pieces)
  exchange.finish()
}

/**
 * Returns a function that sends more of an answer without a length, and resolves when the client can
 * accept more. The first pieces are sent with the head, so that the client wakes once for both. It
 * throws if the client has disconnected.
 */
export function chunkSink(
  exchange: HttpExchange,
  head: string,
): (pieces: Pieces, isLast?: boolean) => void | Promise<void> {
  return (pieces, isLast) => {
    if (exchange.over) throw new Error('the client disconnected')
    let isRead = true
    if (!exchange.begun) isRead = exchange.beginChunks(head, pieces)
    else if (isLast) exchange.endChunks(pieces)
    else isRead = exchange.writeChunk(pieces)
    release(pieces)
    if (isRead) return undefined
    return new Promise<void>((resolve) => exchange.whenDrained(resolve))
  }
}

function release(pieces: Pieces): void {
  for (const piece of pieces) releaseOwnBytes(piece)
}
