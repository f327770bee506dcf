/** One connection to a server: a request out, its answer in, then free for the next. */
import type { Socket } from 'bun'
import type { Receiver } from './arrivals.ts'
import type { ByteRange } from './byte-range.ts'
import { ChunkedScanner } from './chunked.ts'
import { readHeadText } from './request-head.ts'
import { parseResponseHead, type ResponseHead } from './response-head.ts'
import { SocketWriter } from './socket-writer.ts'

export type Failure = 'unreachable' | 'timeout' | 'broken'

/** Receives an answer as it arrives: its payload, without the framing. */
export type AnswerSink = {
  /** The head, and the part of the body that came with it. */
  head(head: ResponseHead, body: readonly ByteRange[], ended: boolean): void
  /** More of the body; a sink that is full calls `pause`. */
  data(body: readonly ByteRange[], ended: boolean): void
  /** There will be no more. `unreachable`: no byte of an answer came; `cause` is the reason, if known. */
  fail(failure: Failure, cause?: unknown): void
  /** Called before an answer's body is read: whether to deliver it with its framing, for forwarding. */
  passesThrough?(head: ResponseHead): boolean
  /** Whether the payload of chunks that arrive together is moved together in memory. */
  readonly merges?: boolean
}

export type UpstreamMessage = {
  readonly head: string
  readonly body: ByteRange
  /** More of the body, after that range. */
  readonly pieces?: readonly Uint8Array[]
  /** Length of the whole body. */
  readonly lengthBytes: number
  /** Sends the rest that is not at hand, once the head is sent. */
  readonly sendRest?: (connection: UpstreamConnection) => void
}

/** A request that the connection has not answered with a single byte. */
export type Unanswered = {
  readonly message: UpstreamMessage
  readonly sink: AnswerSink
  readonly deadlineMs: number
}

export type UpstreamConnectionOwner = {
  /** Counts the time by which its connections judge silence. */
  readonly tick: number
  /** The answer is complete and the connection can be reused. */
  released(connection: UpstreamConnection): void
  /** A reused connection stayed silent on a request until it was aborted. */
  unheard(connection: UpstreamConnection): void
  /**
   * The server closed a reused connection without a byte of an answer; returns whether it is
   * retried elsewhere.
   */
  stale(connection: UpstreamConnection, unanswered: Unanswered): boolean
  closed(connection: UpstreamConnection): void
}

export class UpstreamConnection implements Receiver {
  readonly origin: string
  readonly #socket: Socket<UpstreamConnection | undefined>
  readonly #owner: UpstreamConnectionOwner
  readonly #writer: SocketWriter
  #sink: AnswerSink | undefined
  #head: ResponseHead | undefined
  #headInput: Buffer | undefined
  #scanner: ChunkedScanner | undefined
  #leftBytes = 0
  #bodyLeftBytes = 0
  #paused = false
  #dead = false
  #hasHungUp = false
  /** When it was last used, in the pool's ticks. */
  usedTick = 0
  /** When it was last taken for a request. */
  takenTick = 0
  /** Answers received over it; none on a fresh connection. */
  answers = 0
  #deadlineMs = Infinity
  #message: UpstreamMessage | undefined
  #isPassedThrough = false

  constructor(
    origin: string,
    socket: Socket<UpstreamConnection | undefined>,
    owner: UpstreamConnectionOwner,
  ) {
    this.origin = origin
    this.#socket = socket
    this.#owner = owner
    this.#writer = new SocketWriter(socket)
  }

  get dead(): boolean {
    return this.#dead
  }

  /** Sends a head and the body, or the part that is available; the rest follows by `write`. */
  send(message: UpstreamMessage, sink: AnswerSink, deadlineMs: number): void {
    this.#sink = sink
    this.#deadlineMs = deadlineMs
    this.#message = message
    this.#bodyLeftBytes = message.lengthBytes - sizeAtHand(message)
    this.#writer.writeMessage(message.head, message.body, message.pieces)
    message.sendRest?.(this)
  }

  /** Writes more of a request's body; false if the server is slow. */
  write(bytes: Uint8Array): boolean {
    this.#bodyLeftBytes -= bytes.length
    return this.#dead || this.#writer.write(bytes)
  }

  /** The same for several pieces; they have been copied or sent when it returns. */
  writePieces(pieces: readonly Uint8Array[]): boolean {
    for (const piece of pieces) this.#bodyLeftBytes -= piece.length
    return this.#dead || this.#writer.writePieces('', pieces, '')
  }

  whenDrained(then: () => void): void {
    this.#writer.whenDrained(then)
  }

  pause(): void {
    if (!this.#paused && !this.#dead) this.#socket.pause()
    this.#paused = true
  }

  resume(): void {
    if (this.#paused && !this.#dead) this.#socket.resume()
    this.#paused = false
  }

  /** Aborts the request; the server notices. */
  abandon(): void {
    this.#tellUnheard()
    this.#sink = undefined
    this.#close()
  }

  /**
   * Aborts an answer that has begun: the server sees the connection end, and the sink still gets
   * what it sends until it has noticed.
   */
  hangUp(): void {
    if (this.#head === undefined || this.#bodyLeftBytes > 0 || this.#writer.blocked) {
      this.#fail('broken')
      return
    }
    this.#hasHungUp = true
    this.resume()
    if (!this.#dead) this.#socket.shutdown()
  }

  data(bytes: Buffer): void {
    this.usedTick = this.#owner.tick
    try {
      if (this.#sink === undefined) this.#close()
      else if (this.#head === undefined) this.#readHead(bytes)
      else this.#readBody(bytes)
    } catch {
      this.#fail('broken') // the answer is not valid HTTP
    }
  }

  cut(): void {
    this.#fail('broken')
  }

  drain(): void {
    this.#writer.drain()
  }

  closed(): void {
    this.#dead = true
    const isUnanswered = this.#head === undefined && this.#headInput === undefined
    if (!isUnanswered || !this.#goesOnElsewhere()) {
      this.#fail(isUnanswered ? 'unreachable' : 'broken')
    }
    this.#writer.abandon()
    this.#owner.closed(this)
  }

  /** Called often; ends requests that take too long. */
  sweep(nowMs: number, tick: number, silentTicks: number): void {
    if (this.#sink === undefined) return
    if (this.#head === undefined && nowMs > this.#deadlineMs) this.#fail('timeout')
    else if (this.#head !== undefined && !this.#paused && tick - this.usedTick > silentTicks) {
      this.#fail('broken')
    }
  }

  /** Fails a request whose server has been silent for this long; the caller knows of a larger problem. */
  giveUp(tick: number, silentTicks: number): boolean {
    // A paused connection is not being read.
    if (this.#sink === undefined || this.#paused) return false
    if (tick - Math.max(this.usedTick, this.takenTick) < silentTicks) return false
    this.#tellUnheard()
    this.#fail('broken')
    return true
  }

  /** A server may close an idle connection just as it is reused: that is no sign of a faulty server. */
  #goesOnElsewhere(): boolean {
    const message = this.#message
    const sink = this.#sink
    if (message === undefined || sink === undefined || this.answers === 0) return false
    // Only a request whose whole body is here can be sent again.
    if (sizeAtHand(message) !== message.lengthBytes) return false
    const unanswered = { message, sink, deadlineMs: this.#deadlineMs }
    if (!this.#owner.stale(this, unanswered)) return false
    this.#sink = undefined
    return true
  }

  #readHead(bytes: Buffer): void {
    const input = this.#headInput === undefined ? bytes : Buffer.concat([this.#headInput, bytes])
    this.#headInput = input
    const text = readHeadText(input)
    if (text === undefined) return
    const head = parseResponseHead(text)
    const end = text.length + 2
    if (head.status < 200) {
      this.#headInput = undefined
      if (end < input.length) this.#readHead(input.subarray(end))
      return
    }
    this.#head = head
    this.#message = undefined
    this.#isPassedThrough = this.#sink?.passesThrough?.(head) === true
    this.#scanner = head.framing === 'chunked' ? new ChunkedScanner() : undefined
    this.#leftBytes = head.framing === 'chunked' ? 0 : head.framing
    const payload: ByteRange[] = []
    const ended = this.#follow(input, end, payload)
    const sink = this.#sink
    if (ended) this.#release()
    sink?.head(head, payload, ended)
  }

  #readBody(bytes: Buffer): void {
    const payload: ByteRange[] = []
    const ended = this.#follow(bytes, 0, payload)
    const sink = this.#sink
    if (ended) this.#release()
    sink?.data(payload, ended)
  }

  /**
   * Collects the payload; returns whether the body ends with these bytes. Bytes after its end are
   * an error.
   */
  #follow(bytes: Buffer, from: number, payload: ByteRange[]): boolean {
    const isRaw = this.#scanner === undefined || this.#isPassedThrough
    if (isRaw && from < bytes.length) payload.push({ bytes, start: from, end: bytes.length })
    if (this.#scanner === undefined) {
      this.#leftBytes -= bytes.length - from
      if (this.#leftBytes < 0) throw new RangeError('the answer is longer than announced')
      return this.#leftBytes === 0
    }
    const end = isRaw
      ? this.#scanner.scan(bytes, from)
      : collectPayload(this.#scanner, bytes, from, payload, this.#sink?.merges === true)
    if (end >= 0 && end !== bytes.length) throw new RangeError('bytes follow the answer')
    return end >= 0
  }

  #release(): void {
    const isWhole = this.#bodyLeftBytes === 0 && !this.#hasHungUp
    const reusable = this.#head?.keepAlive === true && isWhole
    this.#sink = undefined
    this.#message = undefined
    this.#head = undefined
    this.#headInput = undefined
    this.#scanner = undefined
    this.answers++
    this.resume()
    if (reusable && !this.#writer.blocked) this.#owner.released(this)
    else this.#close()
  }

  #tellUnheard(): void {
    const isSilent = this.#sink !== undefined && this.#head === undefined
    if (isSilent && !this.#dead && this.answers > 0) this.#owner.unheard(this)
  }

  #fail(failure: Failure): void {
    if (failure === 'timeout') this.#tellUnheard()
    const sink = this.#sink
    this.#sink = undefined
    this.#close()
    sink?.fail(failure)
  }

  #close(): void {
    if (this.#dead) return
    this.#dead = true
    this.#socket.terminate()
  }
}

function sizeAtHand({ body, pieces }: UpstreamMessage): number {
  let size = body.end - body.start
  if (pieces !== undefined) for (const piece of pieces) size += piece.length
  return size
}

/** Like `scan`. Ranges are moved together in place: no one else reads the buffer. */
function collectPayload(
  scanner: ChunkedScanner,
  bytes: Buffer,
  from: number,
  payload: ByteRange[],
  merges: boolean,
): number {
  if (!merges) {
    return scanner.scan(bytes, from, (start, end) => void payload.push({ bytes, start, end }))
  }
  let [first, last] = [-1, -1]
  const end = scanner.scan(bytes, from, (start, after) => {
    if (first < 0) [first, last] = [start, start]
    else bytes.copyWithin(last, start, after)
    last += after - start
  })
  if (first >= 0) payload.push({ bytes, start: first, end: last })
  return end
}
