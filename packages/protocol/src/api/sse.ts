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

/** Decodes events across arbitrary chunk boundaries; the size of one event is bounded. */
export class SseDecoder {
  readonly #maxEventBytes: number
  // Only the first line of a stream may start with a BOM.
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  /** The text of the last chunk: lines from `#at` on were not read yet. */
  #text = ''
  #at = 0
  /** The next line feed and carriage return at or after `#at`, once searched for; -1 if there is none. */
  #lf = -1
  #cr = -1
  /** Finding that there is none reads all of the text, which a reader ahead does not need. */
  #isSearched = false
  /** The beginning of a line whose end has not arrived. */
  #rest: string[] = []
  #restLength = 0
  #event: string | undefined
  #data: string | undefined
  #eventLength = 0
  #afterReturn = false
  #started = false

  constructor(maxEventBytes = 16 * 1024 * 1024) {
    this.#maxEventBytes = maxEventBytes
  }

  /** Whether an event was started but not ended: a stream that stops here was truncated. */
  get pending(): boolean {
    return this.#restLength > 0 || this.#data !== undefined
  }

  push(chunk: Uint8Array): SseEvent[] {
    this.add(chunk)
    const events: SseEvent[] = []
    for (let event = this.next(); event !== undefined; event = this.next()) events.push(event)
    return events
  }

  /** Adds a chunk once `next` has returned everything before it. */
  add(chunk: Uint8Array): void {
    this.#text = this.#decoder.decode(chunk, { stream: true })
    this.#moveTo(0)
  }

  /** The next complete event; undefined if more must be added first. */
  next(): SseEvent | undefined {
    if (!this.#isSearched) this.#search()
    while (this.#lf >= 0 || this.#cr >= 0) {
      const isFeed = this.#cr < 0 || (this.#lf >= 0 && this.#lf < this.#cr)
      const [start, end] = [this.#at, isFeed ? this.#lf : this.#cr]
      // The LF of a CRLF does not end a second line, even when the two arrive in different chunks.
      const isPair = this.#afterReturn && isFeed && end === start
      this.#afterReturn = !isFeed
      this.#at = end + 1
      if (isFeed) this.#lf = this.#text.indexOf('\n', this.#at)
      else this.#cr = this.#text.indexOf('\r', this.#at)
      const event = isPair ? undefined : this.#line(this.#join(this.#text.slice(start, end)))
      if (event !== undefined) return event
    }
    this.#keep()
    return undefined
  }

  /**
   * Lets a reader of events whose form it knows read them from the text itself. Called only between
   * two events, with the text and the start of the next event; returns where it stopped.
   */
  readAhead(read: (text: string, at: number) => number): void {
    if (this.pending || this.#eventLength > 0 || this.#afterReturn) return
    const at = read(this.#text, this.#at)
    if (at === this.#at) return
    this.#started = true
    this.#moveTo(at)
  }

  /** Drops everything that `next` would still return. */
  clear(): void {
    this.#text = ''
    this.#moveTo(0)
  }

  #moveTo(at: number): void {
    this.#at = at
    this.#isSearched = false
  }

  #search(): void {
    this.#isSearched = true
    this.#lf = this.#text.indexOf('\n', this.#at)
    this.#cr = this.#text.indexOf('\r', this.#at)
  }

  /** Keeps what follows the last line end. */
  #keep(): void {
    if (this.#at < this.#text.length) {
      const part = this.#text.slice(this.#at)
      this.#afterReturn = false
      this.#restLength += part.length
      this.#rest.push(part)
    }
    this.clear()
    this.#checkSize()
  }

  #join(tail: string): string {
    if (this.#restLength === 0) return tail
    this.#rest.push(tail)
    const line = this.#rest.join('')
    this.#rest = []
    this.#restLength = 0
    return line
  }

  #line(given: string): SseEvent | undefined {
    const line = !this.#started && given.startsWith('\ufeff') ? given.slice(1) : given
    this.#started = true
    if (line === '') return this.#end()
    this.#eventLength += line.length
    this.#checkSize()
    this.#field(line)
    return undefined
  }

  /** An empty line ends an event. */
  #end(): SseEvent | undefined {
    const [event, data] = [this.#event, this.#data]
    this.#data = undefined
    this.#event = undefined
    this.#eventLength = 0
    return data === undefined ? undefined : { event, data }
  }

  #field(text: string): void {
    if (text.startsWith('data: ')) {
      this.#add(text.slice(6))
      return
    }
    const colon = text.indexOf(':')
    const name = colon < 0 ? text : text.slice(0, colon)
    const value = colon < 0 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'data') this.#add(value)
    else if (name === 'event') this.#event = value
    // id and retry are for reconnection, which these APIs do not support; a comment has no field
    // name.
  }

  #add(value: string): void {
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`
  }

  /** Characters are counted: at most as many as there are bytes. */
  #checkSize(): void {
    if (this.#eventLength + this.#restLength <= this.#maxEventBytes) return
    throw new SseError(`event is longer than ${this.#maxEventBytes} bytes`)
  }
}
