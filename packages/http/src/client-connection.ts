/** One client connection: requests in, one at a time, answers out. */
import type { Socket } from 'bun'
import type { Receiver } from './arrivals.ts'
import type { ConnectionContext, ConnectionLimits } from './connection-context.ts'
import { Fields } from './head-fields.ts'
import { type ExchangeHost, HttpExchange } from './http-exchange.ts'
import { MessageError } from './message-error.ts'
import { largePieceBytes, type Sender } from './reading-turns.ts'
import { releaseBytes } from './release-bytes.ts'
import { RequestBody } from './request-body.ts'
import { maxHeadBytes, parseRequestHead, readHeadText } from './request-head.ts'
import { SocketWriter } from './socket-writer.ts'

/** Slower than any real link; trickling single bytes does not keep a connection open. */
const slowBytesPerSecond = 1024

/** Seconds of silence; and in total, because a client that keeps sending has had time to read the error. */
const lingerSeconds = 2
const maxLingerSeconds = 10

export class ClientConnection implements ExchangeHost, Receiver, Sender {
  readonly writer: SocketWriter
  readonly #socket: Socket<ClientConnection>
  readonly #context: ConnectionContext
  #input: Buffer | undefined
  #exchange: HttpExchange | undefined
  #paused = false
  #awaitsTurn = false
  #advancing = false
  #closing = false
  #gone = false
  #lingeringTick: number | undefined
  #fresh = true
  #touchedTick: number
  #takenTick: number
  #headTick: number

  constructor(socket: Socket<ClientConnection>, context: ConnectionContext) {
    this.#socket = socket
    this.#context = context
    this.writer = new SocketWriter(socket)
    this.#touchedTick = context.tick
    this.#takenTick = context.tick
    this.#headTick = context.tick
  }

  get address(): string {
    return this.#socket.remoteAddress
  }

  get stopping(): boolean {
    return this.#context.stopping
  }

  /** Whether a request is being answered. */
  get busy(): boolean {
    return this.#exchange !== undefined || this.writer.blocked
  }

  data(bytes: Buffer): void {
    if (this.#gone) return // closed by what another connection received in the same pass
    this.#touchedTick = this.#context.tick
    const { length } = bytes
    if (this.#closing) {
      releaseBytes(bytes)
      if (length >= largePieceBytes) this.#context.turns.took(this)
      return
    }
    try {
      const used = this.#exchange?.body.ended === false ? this.#exchange.body.feed(bytes, 0) : 0
      if (used < length) this.#keep(used === 0 ? bytes : bytes.subarray(used))
      this.#advance()
      if (length >= largePieceBytes) this.#takeTurn()
    } catch (error) {
      this.#refuse(error)
    }
  }

  drain(): void {
    this.#touchedTick = this.#context.tick
    this.#takenTick = this.#context.tick
    this.writer.drain()
    this.#noteIdle()
  }

  /** Lets other clients with large bodies go first. */
  pause(): void {
    this.#awaitsTurn = true
    this.#read(false)
  }

  resume(): void {
    this.#awaitsTurn = false
    this.#read(true)
  }

  /** Streamed bodies are exempt: their consumer sets the pace. */
  #takeTurn(): void {
    if (this.#exchange?.body.isLong === true) this.#context.turns.took(this)
    else this.#context.turns.leave(this)
  }

  closed(): void {
    this.#gone = true
    this.#context.idle.delete(this)
    this.#context.turns.leave(this)
    const exchange = this.#exchange
    this.#exchange = undefined
    exchange?.lost()
    this.writer.abandon()
  }

  completed(close: boolean): void {
    const exchange = this.#exchange
    if (close) {
      this.#exchange = undefined
      this.#closing = true
      this.writer.whenDrained(() => this.#leave(exchange?.body.ended !== false))
      this.#noteIdle()
      return
    }
    // Invalid input after a request must not keep that request from ending.
    try {
      this.#advance()
    } catch (error) {
      this.#refuse(error)
    }
  }

  cut(): void {
    this.#exchange = undefined
    this.#socket.terminate()
  }

  /** Called every second; closes connections that have been silent for too long. */
  sweep(): void {
    const { tick, limits, stopping } = this.#context
    const silent = tick - this.#touchedTick
    if (this.#lingeringTick !== undefined) {
      const isOver = tick - this.#lingeringTick > maxLingerSeconds
      if (silent > lingerSeconds || isOver) this.#socket.terminate()
    } else if (this.#isStalled(silent, tick, limits)) {
      this.#giveUp()
    } else if (stopping && !this.busy && !this.writer.blocked) {
      this.#socket.end()
    }
  }

  #isStalled(silent: number, tick: number, limits: ConnectionLimits): boolean {
    // A client that sends but never reads is stalled too.
    if (this.writer.blocked) return tick - this.#takenTick > limits.stallSeconds
    if (this.#exchange !== undefined) {
      const { body } = this.#exchange
      if (body.ended || (this.#paused && !this.#awaitsTurn)) return false
      const allowedSeconds =
        limits.stallSeconds + (body.collectedBytes ?? Infinity) / slowBytesPerSecond
      if (tick - this.#headTick > allowedSeconds) return true
      return silent > limits.stallSeconds && !this.#awaitsTurn
    }
    if (this.#fresh || this.#input !== undefined) return tick - this.#headTick > limits.headSeconds
    return silent > limits.idleSeconds
  }

  /** Sends an error if a request has begun and its answer has not. */
  #giveUp(): void {
    const hasBegun = this.#exchange?.begun ?? this.#input === undefined
    if (hasBegun || this.writer.blocked) this.#socket.terminate()
    else this.#refuse(new MessageError(408, 'the request did not come in time'))
  }

  #keep(bytes: Buffer): void {
    if (this.#input === undefined) this.#headTick = this.#context.tick
    this.#input = this.#input === undefined ? bytes : Buffer.concat([this.#input, bytes])
  }

  /** Starts requests while complete heads are buffered and the previous request is finished. */
  #advance(): void {
    if (this.#advancing) return
    this.#advancing = true
    try {
      while (this.#isReady() && this.#input !== undefined && this.#beginNext(this.#input)) {}
    } finally {
      this.#advancing = false
    }
    // A pipelining client is read again when its next request is due.
    const held = this.#input?.length ?? 0
    if (this.#exchange?.body.ended !== false) this.#read(!this.busy || held < maxHeadBytes)
    this.#noteIdle()
  }

  /** An idle connection may be closed to make way for another. */
  #noteIdle(): void {
    if (!this.busy && !this.#gone) this.#context.idle.add(this)
  }

  #isReady(): boolean {
    if (this.#closing) return false
    if (this.#exchange?.over && this.#exchange.body.ended) this.#exchange = undefined
    return this.#exchange === undefined
  }

  #beginNext(input: Buffer): boolean {
    const text = readHeadText(input)
    if (text === undefined) return false
    const head = parseRequestHead(text)
    const end = text.length + 2
    const body = new RequestBody(head.framing, (more) => this.#read(more), this.#context.bodyMemory)
    const used = body.ended || end === input.length ? end : body.feed(input, end)
    if (used === input.length && body.ended) body.arrivedIn(input)
    const exchange = new HttpExchange(this, head, body)
    this.#exchange = exchange
    this.#context.idle.delete(this)
    this.#input = used === input.length ? undefined : input.subarray(used)
    this.#fresh = false
    this.#headTick = this.#context.tick
    this.#context.begin(exchange)
    return true
  }

  #read(more: boolean): void {
    if (more !== this.#paused) return
    this.#paused = !more
    if (more) this.#socket.resume()
    else this.#socket.pause()
  }

  #refuse(error: unknown): void {
    const current = this.#exchange
    if (!(error instanceof MessageError) || current?.begun) {
      this.cut()
      current?.lost()
      return
    }
    if (current !== undefined) {
      if (current.body.fail(error)) return
      this.cut()
      current.lost()
      return
    }
    const head = { ...refusedHead, fields: new Fields() }
    const exchange = new HttpExchange(this, head, new RequestBody(0, () => undefined))
    this.#exchange = exchange
    this.#context.idle.delete(this)
    this.#context.refuse(exchange, error)
  }

  /** Closing with unread input would send a reset that may overtake the answer. */
  #leave(allRead: boolean): void {
    if (allRead && this.#input === undefined) {
      this.#socket.end()
      return
    }
    this.#lingeringTick = this.#context.tick
    this.#input = undefined
    this.#touchedTick = this.#context.tick
    this.#read(true)
    this.#socket.shutdown()
  }
}

/** Placeholder for a head that could not be parsed: the connection closes after the answer. */
const refusedHead = {
  method: 'GET',
  target: '/',
  framing: 0,
  minorVersion: 1,
  keepAlive: false,
  expectsContinue: false,
} as const
