/** Sends a sealed answer over its exchange. */
import { chunkSink, type HttpExchange, sendPieces } from '@privatemode/http'
import { sealedMediaType } from '@privatemode/protocol/fleet'
import type { SealedReply } from './answer-sealed.ts'

const head = `HTTP/1.1 200 OK\r\ncontent-type: ${sealedMediaType}\r\n`

/** Resolves when the answer was sent; rejects if it cannot be completed. */
export async function sendSealed(exchange: HttpExchange, reply: SealedReply): Promise<void> {
  if (reply.kind === 'whole') {
    sendPieces(exchange, head, reply.pieces)
    return
  }
  exchange.onGone = () => reply.cancel()
  await reply.seal(chunkSink(exchange, head))
}
