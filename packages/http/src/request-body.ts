/** The body of one request: buffered, streamed or discarded, as its handler decides. */
import type { BodyMemory } from './body-memory.ts'
import { type ByteRange, joinRanges, viewOf } from './byte-range.ts'
import { ChunkedScanner } from './chunked.ts'
import { MessageError } from './message-error.ts'
import { releaseBytes } from './release-bytes.ts'

/** Receives a body as it arrives; returns false to pause until `resume`. */
export type BodySink = {
  readonly data: (bytes: Uint8Array) => boolean
  readonly end: () => void
}

/** Bodies with more than this still to come are copied into one buffer as they arrive. */
const worthFillingBytes = 64 * 1024

type Taker =
  | { readonly kind: 'nobody' }
  | {
      readonly kind: 'whole'
      readonly limitBytes: number
      /** The buffer in which a long body is assembled as it arrives. */
      readonly into: Buffer | undefined
      readonly watch: ((received: Uint8Array) => void) | undefined
      readonly done: (error?: Error) => void
    }
  | { readonly kind: 'stream'; readonly sink: BodySink }
  | { readonly kind: 'discard' }

export class RequestBody {
  readonly #scanner: ChunkedScanner | undefined
  readonly #read: (more: boolean) => void
  readonly #memory: BodyMemory | undefined
  #left: number
  #parts: ByteRange[] = []
  #size = 0
  #heldBytes = 0
  /** Where a long body is assembled. */
  #own: ArrayBuffer | undefined
  /** What a short body arrived in, and nothing after it. */
  #carrier: Buffer | undefined
  #taker: Taker = { kind: 'nobody' }
  #failure: Error | undefined

  /** `read` is called with whether more input is wanted. */
  constructor(framing: number | 'chunked', read: (more: boolean) => void, memory?: BodyMemory) {
    this.#scanner = framing === 'chunked' ? new ChunkedScanner() : undefined
    this.#left = framing === 'chunked' ? 0 : framing
    this.#read = read
    this.#memory = memory
  }

  /** Whether the client has sent all of it. */
  get ended(): boolean {
    return this.#scanner === undefined ? this.#left === 0 : this.#scanner.ended
  }

  /** Bytes it occupies in the memory for bodies. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Bytes received so far; undefined unless it is being buffered: otherwise its consumer sets the pace. */
  get collectedBytes(): number | undefined {
    return this.#taker.kind === 'whole' ? this.#size : undefined
  }

  /** Bytes still to come; Infinity if the client did not announce a length. */
  get leftBytes(): number {
    if (this.ended) return 0
    return this.#scanner === undefined ? this.#left : Infinity
  }

  /** Whether much more is to come that is buffered or discarded; never true for streamed bodies. */
  get isLong(): boolean {
    const { kind } = this.#taker
    if (this.ended || kind === 'nobody' || kind === 'stream') return false
    if (this.#scanner === undefined) return this.#left > worthFillingBytes
    return kind === 'discard' || this.#size > worthFillingBytes
  }

  /** All of it arrived in these bytes, with nothing of another request. */
  arrivedIn(bytes: Buffer): void {
    this.#carrier = bytes
  }

  /** Consumes this body's bytes from `from` on; returns where the rest begins. */
  feed(bytes: Buffer, from: number): number {
    const end =
      this.#scanner === undefined ? this.#feedCounted(bytes, from) : this.#feedChunked(bytes, from)
    if (this.ended) this.#finish()
    else if (this.#taker.kind === 'nobody') this.#read(false)
    return end
  }

  /**
   * The complete body, synchronously if it is already here. While a long one arrives, `watch` gets
   * what has been received of it so far, again and again.
   */
  whole(
    limitBytes: number,
    watch?: (received: Uint8Array) => void,
  ): ByteRange | Promise<ByteRange> {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#size + this.#left > limitBytes) throw tooLarge(limitBytes)
    if (this.ended) return this.#take()
    return new Promise((resolve, reject) => {
      const done = (error?: Error) => (error === undefined ? resolve(this.#take()) : reject(error))
      const into = this.#left > worthFillingBytes ? this.#gather(this.#left) : undefined
      this.#taker = { kind: 'whole', limitBytes, into, watch, done }
      this.#hold(this.#size)
      if (this.#failure === undefined) this.#read(true)
    })
  }

  /**
   * One buffer for all of a long body, starting with the bytes already received; unwritten pages
   * cost nothing. More is to come, so the received bytes contain nothing after this body.
   */
  #gather(leftBytes: number): Buffer {
    const lengthBytes = this.#size + leftBytes
    this.#own = this.#memory?.allocate(lengthBytes) ?? new ArrayBuffer(lengthBytes)
    const whole = Buffer.from(this.#own, 0, lengthBytes)
    let at = 0
    for (const { bytes, start, end } of this.#parts) {
      at += bytes.copy(whole, at, start, end)
      releaseBytes(bytes)
    }
    this.#parts = [{ bytes: whole, start: 0, end: whole.length }]
    return whole
  }

  /** Accounts for the memory of its decoded form; throws if there is none left. */
  reserve(bytes: number): void {
    this.#hold(bytes)
    this.#memory?.complete(this)
    if (this.#failure !== undefined) throw this.#failure
  }

  stream(sink: BodySink): void {
    this.#taker = { kind: 'stream', sink }
    const parts = this.#parts
    this.#parts = []
    let wantsMore = true
    for (const part of parts) wantsMore = sink.data(viewOf(part))
    if (this.ended) sink.end()
    else this.#read(wantsMore)
  }

  resume(): void {
    this.#read(true)
  }

  /** Discards the bytes received and those to come. */
  discard(): void {
    this.#taker = { kind: 'discard' }
    this.#drop()
    if (!this.ended) this.#read(true)
  }

  /** Nobody needs it any more: its memory may serve another body. */
  reuse(): void {
    this.release()
    if (this.#own !== undefined) this.#memory?.reuse(this.#own)
    if (this.#carrier !== undefined) releaseBytes(this.#carrier)
    this.#own = undefined
    this.#carrier = undefined
  }

  /** It no longer counts; whoever has its bytes can still read them. */
  release(): void {
    if (this.#heldBytes > 0) this.#memory?.giveBack(this, this.#heldBytes)
    this.#heldBytes = 0
  }

  /** The client disconnected, or sent an invalid body. Returns whether a consumer was notified. */
  fail(error: Error): boolean {
    this.#failure ??= error
    const taker = this.#taker
    this.#taker = { kind: 'discard' }
    this.#drop()
    if (taker.kind === 'whole') taker.done(error)
    return taker.kind !== 'stream'
  }

  /**
   * While more is to come, all buffered bytes belong to this body: a flood must not wait for the
   * collector.
   */
  #drop(): void {
    if (!this.ended) {
      for (const { bytes } of this.#parts) releaseBytes(bytes)
      if (this.#own?.detached === false) this.#own.transfer(0)
      this.#own = undefined
    }
    this.#parts = []
    this.release()
  }

  #feedCounted(bytes: Buffer, from: number): number {
    const end = Math.min(bytes.length, from + this.#left)
    this.#left -= end - from
    if (end > from) this.#give({ bytes, start: from, end })
    const taker = this.#taker
    const isUnused =
      taker.kind === 'discard' || (taker.kind === 'whole' && taker.into !== undefined)
    // Bytes after the end belong to the next request.
    if (isUnused && end === bytes.length) releaseBytes(bytes)
    return end
  }

  #feedChunked(bytes: Buffer, from: number): number {
    const end = this.#scanner?.scan(bytes, from, (start, stop) =>
      this.#give({ bytes, start, end: stop }),
    )
    return end === undefined || end < 0 ? bytes.length : end
  }

  #give(part: ByteRange): void {
    const taker = this.#taker
    switch (taker.kind) {
      case 'discard':
        return
      case 'stream':
        if (!taker.sink.data(viewOf(part))) this.#read(false)
        return
      case 'whole':
        if (this.#size + part.end - part.start > taker.limitBytes) {
          this.fail(tooLarge(taker.limitBytes))
          return
        }
        break
      case 'nobody':
        break
    }
    if (taker.kind === 'whole' && taker.into !== undefined) {
      part.bytes.copy(taker.into, this.#size, part.start, part.end)
      taker.watch?.(taker.into.subarray(0, this.#size + part.end - part.start))
    } else this.#parts.push(part)
    this.#size += part.end - part.start
    if (taker.kind === 'whole') this.#hold(part.end - part.start)
  }

  #hold(bytes: number): void {
    if (this.#memory === undefined) return
    this.#heldBytes += bytes
    this.#memory.take(this, bytes)
  }

  #finish(): void {
    const taker = this.#taker
    this.#memory?.complete(this)
    if (taker.kind === 'whole') taker.done()
    else if (taker.kind === 'stream') taker.sink.end()
    this.#taker = { kind: 'discard' }
  }

  #take(): ByteRange {
    const parts = this.#parts
    this.#parts = []
    return joinRanges(parts)
  }
}

function tooLarge(limitBytes: number): MessageError {
  return new MessageError(413, `the request body is larger than ${limitBytes} bytes`)
}
