/** Reads what passes between a proxy and the gateway as a watcher does: times, sizes, frames. */

/** One sealed exchange as seen from outside; times are milliseconds since its first byte. */
export type SeenExchange = {
  /** The id in the request's clear headers, by which the study finds the truth about it. */
  readonly requestId: string
  upBytes: number
  downBytes: number
  /** When the connection was closed, if that was before the last frame. */
  cutMs: number | null
  /** Length of the sealed request. */
  requestLength: number
  /** Time and length of every sealed frame of the answer; lengths stand in clear before frames. */
  readonly frames: [atMs: number, length: number][]
  /** Time and size of every piece of TCP payload of the answer. */
  readonly packets: [atMs: number, size: number][]
}

/** Magic, seal key id and salt before the first frame. */
const preludeLength = 52
const frameHeaderLength = 5

/** Follows one connection on which requests come one after the other. */
export class ConnectionRecorder {
  readonly #done: (exchange: SeenExchange) => void
  #exchange: SeenExchange | undefined
  #startedMs = 0
  #request = ''
  #awaitedUp = 0
  #response = ''
  #inBody = false
  #chunks = new ChunkReader()
  #frames = new FrameReader()

  constructor(done: (exchange: SeenExchange) => void) {
    this.#done = done
  }

  up(bytes: Buffer, nowMs: number): void {
    let [rest, counted] = [bytes, bytes.length]
    if (this.#awaitedUp === 0) {
      if (this.#request === '') this.#startedMs = nowMs
      this.#request += rest.toString('latin1')
      const end = this.#request.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = this.#request.slice(0, end)
      rest = Buffer.from(this.#request.slice(end + 4), 'latin1')
      this.#request = ''
      this.#begin(head)
      counted = rest.length
    }
    this.#awaitedUp -= rest.length
    if (this.#exchange !== undefined) this.#exchange.upBytes += counted
  }

  #begin(head: string): void {
    this.#finish()
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
    const requestId = /^privatemode-request-id: (\w+)/im.exec(head)?.[1]
    this.#awaitedUp = length
    this.#response = ''
    this.#inBody = false
    this.#chunks = new ChunkReader()
    this.#frames = new FrameReader()
    if (requestId === undefined) return
    this.#exchange = {
      ...{ requestId, upBytes: head.length + 4, downBytes: 0, requestLength: length },
      cutMs: null,
      frames: [],
      packets: [],
    }
  }

  down(bytes: Buffer, nowMs: number): void {
    const exchange = this.#exchange
    if (exchange === undefined) return
    const atMs = nowMs - this.#startedMs
    exchange.downBytes += bytes.length
    exchange.packets.push([atMs, bytes.length])
    let body = bytes
    if (!this.#inBody) {
      this.#response += bytes.toString('latin1')
      const end = this.#response.indexOf('\r\n\r\n')
      if (end < 0) return
      this.#inBody = true
      body = Buffer.from(this.#response.slice(end + 4), 'latin1')
      this.#chunks.isChunked = /^transfer-encoding: chunked/im.test(this.#response.slice(0, end))
    }
    for (const piece of this.#chunks.read(body)) {
      for (const frame of this.#frames.read(piece)) {
        exchange.frames.push([atMs, frame.length])
        if (frame.isLast) this.#finish()
      }
    }
  }

  close(nowMs: number): void {
    if (this.#exchange !== undefined) this.#exchange.cutMs = nowMs - this.#startedMs
    this.#finish()
  }

  #finish(): void {
    const exchange = this.#exchange
    this.#exchange = undefined
    if (exchange !== undefined) this.#done(exchange)
  }
}

/** Takes HTTP's chunks off (RFC 9112, section 7.1); what is sent without them passes. */
class ChunkReader {
  isChunked = false
  #line = ''
  #left = 0;

  *read(bytes: Buffer): Generator<Buffer> {
    if (!this.isChunked) {
      yield bytes
      return
    }
    for (let at = 0; at < bytes.length; ) {
      if (this.#left > 0) {
        const end = Math.min(bytes.length, at + this.#left)
        yield bytes.subarray(at, end)
        this.#left -= end - at
        at = end
        continue
      }
      this.#line += String.fromCharCode(bytes[at++] ?? 0)
      if (!this.#line.endsWith('\r\n')) continue
      const size = this.#line.trim()
      this.#line = ''
      if (size !== '') this.#left = Number.parseInt(size, 16)
    }
  }
}

class FrameReader {
  #skip = preludeLength
  #header = Buffer.alloc(0)
  #left = 0
  #length = 0;

  *read(bytes: Buffer): Generator<{ length: number; isLast: boolean }> {
    for (let at = 0; at < bytes.length; ) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, bytes.length - at)
        this.#skip -= skipped
        at += skipped
      } else if (this.#left > 0) {
        const taken = Math.min(this.#left, bytes.length - at)
        this.#left -= taken
        at += taken
        if (this.#left === 0) yield this.#closed()
      } else {
        const missing = frameHeaderLength - this.#header.length
        this.#header = Buffer.concat([this.#header, bytes.subarray(at, at + missing)])
        at += missing
        if (this.#header.length < frameHeaderLength) continue
        this.#length = this.#header.readUInt32BE(0)
        this.#left = this.#length
      }
    }
  }

  #closed(): { length: number; isLast: boolean } {
    const isLast = this.#header[4] === 1
    this.#header = Buffer.alloc(0)
    return { length: this.#length, isLast }
  }
}
