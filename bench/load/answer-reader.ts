/**
 * Follows one HTTP/1.1 answer through the reads of a socket, as cheaply as a load generator must.
 *
 * It is strict where a wrong answer could pass for a correct one: status, framing and length of the
 * payload are checked for every answer, and the first answer of a run is checked completely.
 */
import { ChunkedScanner } from '@privatemode/http'

const headEnd = Buffer.from('\r\n\r\n')

export class AnswerReader {
  #head: Buffer | undefined
  #scanner: ChunkedScanner | undefined
  #left = -1
  status = 0
  /** Bytes of the payload so far, framing not counted. */
  payloadBytes = 0
  /** Chunks of the transfer so far; one that ranges two reads counts twice. */
  pieces = 0
  /** Whether the server requests closing the connection after this answer. */
  closes = false

  reset(): void {
    this.#head = undefined
    this.#scanner = undefined
    this.#left = -1
    this.status = 0
    this.payloadBytes = 0
    this.pieces = 0
    this.closes = false
  }

  /** Consumes a read; true when the answer is complete. `onPayload` receives the ranges of the payload. */
  push(bytes: Buffer, onPayload?: (bytes: Buffer, start: number, end: number) => void): boolean {
    let input = bytes
    let from = 0
    if (this.#left < 0) {
      if (this.#head !== undefined) input = Buffer.concat([this.#head, bytes])
      const end = input.indexOf(headEnd)
      if (end < 0) {
        this.#head = input
        return false
      }
      this.#head = undefined
      this.#readHead(input.toString('latin1', 0, end + 2))
      from = end + 4
    }
    if (this.#scanner === undefined) {
      const size = input.length - from
      this.#left -= size
      this.payloadBytes += size
      if (size > 0) onPayload?.(input, from, input.length)
      if (this.#left < 0) throw new Error('the answer is longer than announced')
      return this.#left === 0
    }
    const end = this.#scanner.scan(input, from, (start, stop) => {
      this.payloadBytes += stop - start
      this.pieces++
      onPayload?.(input, start, stop)
    })
    if (end >= 0 && end !== input.length) throw new Error('bytes follow the answer')
    return end >= 0
  }

  #readHead(head: string): void {
    this.status = Number(head.slice(9, 12))
    const lower = head.toLowerCase()
    this.closes = lower.includes('\r\nconnection: close')
    if (lower.includes('\r\ntransfer-encoding: chunked')) {
      this.#scanner = new ChunkedScanner()
      this.#left = 0
      return
    }
    const length = /\r\ncontent-length: *(\d+)/.exec(lower)?.[1]
    if (length === undefined) throw new Error('the answer has no length')
    this.#left = Number(length)
  }
}
