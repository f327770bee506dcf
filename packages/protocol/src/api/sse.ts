/** Server-Sent Events over bytes: encoding and incremental decoding (WHATWG HTML 9.2). */

export type SseEvent = { event: string | undefined; data: string }

const encoder = new TextEncoder()

/**
 * Encodes one event. `data` is usually JSON on one line; a line break in it starts another data
 * line.
 */
export function encodeEvent(data: string, event?: string): Uint8Array<ArrayBuffer> {
  const head = event === undefined ? '' : `event: ${event}\n`
  const body = /[\r\n]/.test(data) ? data.split(/\r\n|\r|\n/).join('\ndata: ') : data
  return encoder.encode(`${head}data: ${body}\n\n`)
}

/** Encodes a comment, which keeps an idle connection open; clients ignore it. */
export function encodeComment(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(`: ${text.replace(/[\r\n]+/g, ' ')}\n\n`)
}

export class SseError extends Error {
  override readonly name = 'SseError'
  readonly code = 'event_too_long'
}

const lineFeed = 0x0a
const carriageReturn = 0x0d

/** Decodes events across arbitrary chunk boundaries; the size of one event is bounded. */
export class SseDecoder {
  readonly #maxEventBytes: number
  // Each line is decoded separately, and only the first line of a stream may start with a BOM.
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  #rest: Uint8Array[] = []
  #restBytes = 0
  #event: string | undefined
  #data: string | undefined
  #eventBytes = 0
  #afterReturn = false
  #started = false

  constructor(maxEventBytes = 16 * 1024 * 1024) {
    this.#maxEventBytes = maxEventBytes
  }

  /** Whether an event was started but not ended: a stream that stops here was truncated. */
  get pending(): boolean {
    return this.#restBytes > 0 || this.#data !== undefined
  }

  push(chunk: Uint8Array): SseEvent[] {
    const events: SseEvent[] = []
    let start = 0
    let lf = chunk.indexOf(lineFeed)
    let cr = chunk.indexOf(carriageReturn)
    while (lf >= 0 || cr >= 0) {
      const end = cr < 0 || (lf >= 0 && lf < cr) ? lf : cr
      // The LF of a CRLF does not end a second line, even when the two arrive in different chunks.
      const isPair = this.#afterReturn && end === lf && end === start
      this.#afterReturn = end === cr
      const isEmpty = start === end && this.#restBytes === 0
      if (isEmpty && !isPair) this.#emptyLine(events)
      else if (!isPair) this.#line(this.#join(chunk.subarray(start, end)), events)
      start = end + 1
      if (end === lf) lf = chunk.indexOf(lineFeed, start)
      else cr = chunk.indexOf(carriageReturn, start)
    }
    if (start < chunk.length) this.#keep(chunk.slice(start))
    return events
  }

  #keep(part: Uint8Array): void {
    this.#afterReturn = false
    this.#restBytes += part.length
    this.#checkSize()
    this.#rest.push(part)
  }

  #join(tail: Uint8Array): Uint8Array {
    if (this.#restBytes === 0) return tail
    const line = new Uint8Array(this.#restBytes + tail.length)
    let at = 0
    for (const part of this.#rest) {
      line.set(part, at)
      at += part.length
    }
    line.set(tail, at)
    this.#rest = []
    this.#restBytes = 0
    return line
  }

  #line(line: Uint8Array, events: SseEvent[]): void {
    let text = this.#decoder.decode(line)
    if (!this.#started) {
      this.#started = true
      text = text.startsWith('\ufeff') ? text.slice(1) : text
    }
    if (text === '') {
      this.#emptyLine(events)
      return
    }
    this.#eventBytes += line.length
    this.#checkSize()
    this.#field(text)
  }

  /** Ends an event. Every second line is empty, and none of them needs decoding. */
  #emptyLine(events: SseEvent[]): void {
    this.#started = true
    if (this.#data !== undefined) events.push({ event: this.#event, data: this.#data })
    this.#data = undefined
    this.#event = undefined
    this.#eventBytes = 0
  }

  #field(text: string): void {
    const colon = text.indexOf(':')
    const name = colon < 0 ? text : text.slice(0, colon)
    const value = colon < 0 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'data') this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`
    else if (name === 'event') this.#event = value
    // id and retry are for reconnection, which these APIs do not support; a comment has no field
    // name.
  }

  #checkSize(): void {
    if (this.#eventBytes + this.#restBytes <= this.#maxEventBytes) return
    throw new SseError(`event is longer than ${this.#maxEventBytes} bytes`)
  }
}
