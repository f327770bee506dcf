/** One request and its answer on a connection. */

import { type ByteRange, emptyRange } from './byte-range.ts'
import { formatDate } from './http-date.ts'
import type { RequestBody } from './request-body.ts'
import type { RequestHead } from './request-head.ts'
import type { SocketWriter } from './socket-writer.ts'

/** What an exchange needs from its connection. */
export type ExchangeHost = {
  readonly writer: SocketWriter
  readonly address: string
  /** No further request is accepted on this connection. */
  readonly stopping: boolean
  /** The answer is complete; the connection is reused or closed. */
  completed(close: boolean): void
  /** Ends the connection so that no client mistakes it for a clean end. */
  cut(): void
}

/** An unread body up to this size is read and discarded, so that the connection can be reused. */
const worthDiscardingBytes = 64 * 1024

const lastChunk = Buffer.from('0\r\n\r\n')

export class HttpExchange {
  readonly head: RequestHead
  readonly body: RequestBody
  /** Called when the client disconnects before the answer is complete. */
  onGone: (() => void) | undefined
  #host: ExchangeHost | undefined
  #close = false
  #begun = false

  constructor(host: ExchangeHost, head: RequestHead, body: RequestBody) {
    this.#host = host
    this.head = head
    this.body = body
  }

  get address(): string {
    return this.#host?.address ?? ''
  }

  /** Whether the client has disconnected or the answer is complete: nothing more can be sent. */
  get over(): boolean {
    return this.#host === undefined
  }

  get begun(): boolean {
    return this.#begun
  }

  /** Sends 100 Continue to a client that waits for it before sending its body. */
  invite(): void {
    if (!this.head.expectsContinue || this.#begun || this.body.ended) return
    this.#host?.writer.write(Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'))
  }

  /**
   * Starts an answer: status line and fields, each terminated by CRLF, then the first bytes of the
   * body. Returns false if the client is slow: wait for `whenDrained`.
   */
  begin(head: string, first: ByteRange = emptyRange): boolean {
    const host = this.#host
    if (host === undefined || this.#begun) return true
    return host.writer.writeMessage(this.#startHead(host, head), first)
  }

  /** Like `begin`, with a body in pieces: they can be reused when it returns. */
  beginPieces(head: string, pieces: readonly Uint8Array[]): boolean {
    const host = this.#host
    if (host === undefined || this.#begun) return true
    return host.writer.writePieces(this.#startHead(host, head), pieces, '')
  }

  /** Starts an answer without a length, with its first chunk in the same write. */
  beginChunks(head: string, pieces: readonly Uint8Array[]): boolean {
    const host = this.#host
    if (host === undefined || this.#begun) return true
    const isFramed = this.head.minorVersion === 1
    const start = this.#startHead(host, isFramed ? `${head}transfer-encoding: chunked\r\n` : head)
    const size = sizeOf(pieces)
    if (size === 0 || !isFramed) return host.writer.writePieces(start, pieces, '')
    return host.writer.writePieces(`${start}${size.toString(16)}\r\n`, pieces, '\r\n')
  }

  #startHead(host: ExchangeHost, head: string): string {
    this.#begun = true
    this.#close =
      host.stopping || !this.head.keepAlive || this.body.leftBytes > worthDiscardingBytes
    return `${head}date: ${formatDate()}\r\n${this.#close ? 'connection: close\r\n' : ''}\r\n`
  }

  /** Writes more of the body, in the framing announced in the head. */
  write(bytes: Uint8Array): boolean {
    return this.#host?.writer.write(bytes) ?? true
  }

  /** Writes more of a body without a length: as a chunk, or as bare bytes for HTTP/1.0. */
  writeChunk(pieces: readonly Uint8Array[]): boolean {
    const host = this.#host
    if (host === undefined) return true
    if (this.head.minorVersion === 0) return host.writer.writePieces('', pieces, '')
    const size = sizeOf(pieces)
    // An empty chunk would end the body.
    return size === 0 || host.writer.writePieces(`${size.toString(16)}\r\n`, pieces, '\r\n')
  }

  /** The rest of such a body and its end, in one write; for HTTP/1.0 the connection close ends it. */
  endChunks(pieces: readonly Uint8Array[] = []): void {
    const writer = this.#host?.writer
    const size = sizeOf(pieces)
    const isFramed = this.head.minorVersion === 1
    if (size === 0 && isFramed) writer?.write(lastChunk)
    else if (isFramed) writer?.writePieces(`${size.toString(16)}\r\n`, pieces, `\r\n${lastChunk}`)
    else if (size > 0) writer?.writePieces('', pieces, '')
    this.finish()
  }

  /** Calls back when the client has read everything, or has disconnected. */
  whenDrained(then: () => void): void {
    if (this.#host === undefined) then()
    else this.#host.writer.whenDrained(then)
  }

  /** The answer is complete. */
  finish(): void {
    const host = this.#host
    if (host === undefined) return
    this.#host = undefined
    this.onGone = undefined
    if (this.body.ended) this.body.reuse()
    else this.body.discard()
    host.completed(this.#close)
  }

  /** The answer cannot be completed: the client must notice. */
  cut(): void {
    const host = this.#host
    this.#host = undefined
    this.onGone = undefined
    this.body.release()
    host?.cut()
  }

  /** The connection is gone. */
  lost(): void {
    this.#host = undefined
    this.body.fail(new Error('the client went away'))
    const tell = this.onGone
    this.onGone = undefined
    tell?.()
  }
}

function sizeOf(pieces: readonly Uint8Array[]): number {
  let size = 0
  for (const piece of pieces) size += piece.length
  return size
}
