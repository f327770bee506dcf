/** One connection to a server: a request out, its answer in, then free for the next. */
import type { Socket } from 'bun'
import type { ByteRange } from './byte-range.ts'
import { ChunkedScanner } from './chunked.ts'
import { readHeadText } from './request-head.ts'
import { parseResponseHead, type ResponseHead } from './response-head.ts'
import { SocketWriter } from './socket-writer.ts'

export type Failure = 'unreachable' | 'timeout' | 'broken'

/** Takes an answer as it comes: its payload, without the framing. */
export type AnswerSink = {
  /** The head and what of the body came with it. */
  head(head: ResponseHead, body: readonly ByteRange[], ended: boolean): void
  /** More of the body; a sink that is full calls `pause`. */
  data(body: readonly ByteRange[], ended: boolean): void
  /** There will be no more. `unreachable`: no byte of an answer came; `cause` tells why, where it is known. */
  fail(failure: Failure, cause?: unknown): void
  /** Asked before the body of an answer is read: whether it is wanted in its framing, to be passed on as it is. */
  passesThrough?(head: ResponseHead): boolean
}

export type UpstreamMessage = {
  readonly head: string
  readonly body: ByteRange
  /** Of the whole body. */
  readonly lengthBytes: number
  /** Sends what is not in `body`, once the head is sent. */
  readonly sendRest?: (connection: UpstreamConnection) => void
}

/** What a connection was sent and has not answered with a byte. */
export type Unanswered = {
  readonly message: UpstreamMessage
  readonly sink: AnswerSink
  readonly deadlineMs: number
}

export type UpstreamConnectionOwner = {
  /** The answer is complete and the connection can be used again. */
  released(connection: UpstreamConnection): void
  /** A connection that was used before gave no sign of life to a request that was then given up. */
  unheard(connection: UpstreamConnection): void
  /** The server closed a connection that was used before, without a byte of an answer; whether the request goes on elsewhere. */
  stale(connection: UpstreamConnection, unanswered: Unanswered): boolean
  closed(connection: UpstreamConnection): void
}

export class UpstreamConnection {
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
  /** Answers that came over it: a fresh connection has none. */
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

  /** Sends a head and the body, or as much of it as there is; the rest follows by `write`. */
  send(message: UpstreamMessage, sink: AnswerSink, deadlineMs: number): void {
    this.#sink = sink
    this.#deadlineMs = deadlineMs
    this.#message = message
    this.#bodyLeftBytes = message.lengthBytes - (message.body.end - message.body.start)
    this.#writer.writeMessage(message.head, message.body)
    message.sendRest?.(this)
  }

  /** More of a request's body; false if the server is slow. */
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

  /** Gives the request up; the server notices. */
  abandon(): void {
    this.#tellUnheard()
    this.#sink = undefined
    this.#close()
  }

  /**
   * Gives an answer up that has begun: the server reads the end of the connection, and the sink gets
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

  data(bytes: Buffer, tick: number): void {
    this.usedTick = tick
    try {
      if (this.#sink === undefined) this.#close()
      else if (this.#head === undefined) this.#readHead(bytes)
      else this.#readBody(bytes)
    } catch {
      this.#fail('broken') // the answer is not HTTP as we read it
    }
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

  /** Called often: ends what takes too long. */
  sweep(nowMs: number, tick: number, silentTicks: number): void {
    if (this.#sink === undefined) return
    if (this.#head === undefined && nowMs > this.#deadlineMs) this.#fail('timeout')
    else if (this.#head !== undefined && !this.#paused && tick - this.usedTick > silentTicks) {
      this.#fail('broken')
    }
  }

  /** Fails a request whose server has said nothing for so long; its caller knows that more is wrong. */
  giveUp(tick: number, silentTicks: number): boolean {
    // Who is paused is not being listened to.
    if (this.#sink === undefined || this.#paused) return false
    if (tick - Math.max(this.usedTick, this.takenTick) < silentTicks) return false
    this.#tellUnheard()
    this.#fail('broken')
    return true
  }

  /** A server may close an idle connection just as it is used: that says nothing about the server. */
  #goesOnElsewhere(): boolean {
    const message = this.#message
    const sink = this.#sink
    if (message === undefined || sink === undefined || this.answers === 0) return false
    // Only what is all here can be sent again.
    if (message.body.end - message.body.start !== message.lengthBytes) return false
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

  /** Collects the payload, and says whether the body ends with these bytes; bytes behind its end are an error. */
  #follow(bytes: Buffer, from: number, payload: ByteRange[]): boolean {
    const isRaw = this.#scanner === undefined || this.#isPassedThrough
    if (isRaw && from < bytes.length) payload.push({ bytes, start: from, end: bytes.length })
    if (this.#scanner === undefined) {
      this.#leftBytes -= bytes.length - from
      if (this.#leftBytes < 0) throw new RangeError('the answer is longer than announced')
      return this.#leftBytes === 0
    }
    const collect = isRaw
      ? undefined
      : (start: number, end: number) => void payload.push({ bytes, start, end })
    const end = this.#scanner.scan(bytes, from, collect)
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
