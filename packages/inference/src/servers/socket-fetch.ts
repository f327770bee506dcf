/**
 * The parts of `fetch` that a model server needs, over plain sockets.
 *
 * The runtime's own implementation runs on a separate thread and passes every piece through a web
 * stream: for a server next to the worker, that costs more than everything else done with an
 * answer.
 */
import {
  type ByteRange,
  emptyRange,
  type Failure,
  joinRanges,
  type PooledSink,
  type ResponseHead,
  releaseBytes,
  type UpstreamConnection,
  type UpstreamMessage,
  UpstreamPool,
  viewOf,
} from '@privatemode/http'
import type { ServerAnswer, ServerAsk, ServerFetch } from './server-client.ts'

const limits = {
  connectTimeoutMs: 10_000,
  idle: 256,
  // Shorter than servers keep idle connections: uvicorn closes them after five seconds.
  idleMs: 4_000,
  // The caller has its own watch.
  silentMs: Number.POSITIVE_INFINITY,
}
/** Reading from a server resumes once its reader has consumed this much. */
const maxHeldBytes = 256 * 1024
/** A read that gathers pieces does not wait for more than this. */
const maxGatheredBytes = 64 * 1024
/** Copying a longer piece next to another one would cost more than reading it alone. */
const worthJoiningBytes = 8 * 1024
const maxWholeBytes = 256 * 1024 * 1024

export type SocketFetch = { readonly fetch: ServerFetch; close(): void }

/**
 * For plain http only; `via`, such as `unix:/path`, is connected to instead of the address's host.
 * An answer that is read whole has at most `wholeBytes`.
 */
export function createSocketFetch(via?: string, wholeBytes = maxWholeBytes): SocketFetch {
  const pool = new UpstreamPool({ limits, clock: () => performance.now(), caPem: undefined })
  // Nearly all requests go to the same address.
  let last: Target | undefined
  return {
    async fetch(address, init) {
      if (last?.address !== address) last = parseTarget(address)
      const message = formatRequest(last, init)
      const answer = new SocketAnswer(init.signal, wholeBytes)
      pool.send(via ?? last.origin, message, answer, Number.POSITIVE_INFINITY)
      await answer.begun
      return answer
    },
    close: () => pool.close(),
  }
}

type Target = {
  readonly address: string
  readonly origin: string
  readonly host: string
  readonly path: string
}

function parseTarget(address: string): Target {
  const { origin, host, pathname, search } = new URL(address)
  return { address, origin, host, path: `${pathname}${search}` }
}

function formatRequest({ host, path }: Target, asked: ServerAsk): UpstreamMessage {
  const { method, headers } = asked
  const pieces = asked.pieces ?? [Buffer.from(asked.body ?? '')]
  const lengthBytes = pieces.reduce((sum, { length }) => sum + length, 0)
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`
  for (const [name, value] of Object.entries(headers)) {
    // A line break here would inject a second request.
    if (!/^[\x20-\x7e]*$/.test(value))
      throw new TypeError('a header contains a forbidden character')
    head += `${name}: ${value}\r\n`
  }
  head += method === 'GET' ? '\r\n' : `content-length: ${lengthBytes}\r\n\r\n`
  return { head, body: emptyRange, pieces, lengthBytes }
}

class BrokenOff extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(`the connection is ${failure}`)
    this.failure = failure
  }
}

class SocketAnswer implements PooledSink, ServerAnswer {
  readonly body = { getReader: () => this, cancel: () => this.cancel() }
  readonly #signal: AbortSignal
  readonly #wholeBytes: number
  readonly #begun = Promise.withResolvers<void>()
  readonly #giveUp = () => {
    this.#pieces = []
    this.#fail(this.#signal.reason)
  }
  readonly #over = Promise.withResolvers<void>()
  #takeRest: ((piece: Uint8Array) => void) | undefined
  #connection: UpstreamConnection | undefined
  #status = 0
  #pieces: ByteRange[] = []
  /** The memory of what the last read returned. */
  #given: Buffer | undefined
  #heldBytes = 0
  #gatherMs = 0
  #isGathering = false
  #hasGathered = false
  #hasEnded = false
  #failure: unknown
  #wake: (() => void) | undefined

  constructor(signal: AbortSignal, wholeBytes: number) {
    this.#signal = signal
    this.#wholeBytes = wholeBytes
    signal.throwIfAborted()
    signal.addEventListener('abort', this.#giveUp)
    this.#begun.promise.catch(() => {}) // the caller may already know
  }

  get status(): number {
    return this.#status
  }

  get ok(): boolean {
    return this.#status >= 200 && this.#status < 300
  }

  /** Resolves when status and headers have arrived. */
  get begun(): Promise<void> {
    return this.#begun.promise
  }

  connected(connection: UpstreamConnection): boolean {
    this.#connection = connection
    return this.#failure === undefined
  }

  head(head: ResponseHead, body: readonly ByteRange[], ended: boolean): void {
    this.#status = head.status
    this.data(body, ended)
    this.#begun.resolve()
  }

  data(body: readonly ByteRange[], ended: boolean): void {
    for (const range of body) {
      if (range.start === range.end) continue
      if (this.#takeRest !== undefined) {
        this.#takeRest(viewOf(range))
        continue
      }
      this.#pieces.push(range)
      this.#heldBytes += range.end - range.start
    }
    if (ended) this.#settle()
    else if (this.#heldBytes > maxHeldBytes) this.#connection?.pause()
    if (ended || !this.#isGathering || this.#heldBytes > maxGatheredBytes) this.#wake?.()
  }

  readonly merges = true

  fail(failure: Failure, cause?: unknown): void {
    this.#fail(cause ?? new BrokenOff(failure))
  }

  /**
   * What arrived since the last read, short pieces as one. It is valid until the next call: its
   * memory is used again.
   */
  async read(): Promise<{ done: false; value: Uint8Array } | { done: true; value: undefined }> {
    while (this.#pieces.length === 0 && this.#isOpen) await this.#untilWoken()
    // What is left of an earlier wait has waited long enough.
    const gathers = this.#gatherMs > 0 && !this.#hasGathered && this.#isOpen
    if (gathers && this.#heldBytes <= maxGatheredBytes) {
      this.#isGathering = true
      const timer = setTimeout(() => this.#wake?.(), this.#gatherMs)
      await this.#untilWoken()
      clearTimeout(timer)
      this.#isGathering = false
    }
    this.#free()
    const pieces = this.#pieces.splice(0, this.#countJoined())
    this.#hasGathered = this.#pieces.length > 0
    if (pieces.length > 0) {
      const value = this.#join(pieces)
      this.#heldBytes -= value.length
      if (!this.#hasEnded) this.#connection?.resume()
      return { done: false, value }
    }
    if (this.#failure !== undefined) throw this.#failure
    if (this.#takeRest !== undefined) throw new BrokenOff('broken')
    return { done: true, value: undefined }
  }

  gather(ms: number): void {
    this.#gatherMs = ms
  }

  rest(take: (piece: Uint8Array) => void): Promise<void> {
    for (const piece of this.#pieces.splice(0)) take(viewOf(piece))
    this.#takeRest = take
    if (!this.#hasEnded) this.#connection?.resume()
    this.#wake?.()
    return this.#over.promise
  }

  hangUp(): void {
    if (!this.#hasEnded) this.#connection?.hangUp()
  }

  async cancel(): Promise<void> {
    this.#free()
    if (!this.#hasEnded) this.#fail(new BrokenOff('broken'))
  }

  async text(): Promise<string> {
    const parts: Uint8Array[] = []
    let size = 0
    for (let next = await this.read(); !next.done; next = await this.read()) {
      size += next.value.length
      if (size > this.#wholeBytes) {
        await this.cancel()
        throw new RangeError('the answer is too long')
      }
      this.#given = undefined // needed until the end
      parts.push(next.value)
    }
    const [only] = parts
    const whole = parts.length === 1 ? (only as Buffer) : Buffer.concat(parts, size)
    return whole.toString('utf8')
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text())
  }

  /** How many pieces the next read returns as one. */
  #countJoined(): number {
    const long = this.#pieces.findIndex(({ start, end }) => end - start > worthJoiningBytes)
    return long < 0 ? this.#pieces.length : Math.max(1, long)
  }

  /** A buffer that waits for the collector is memory that the next answer cannot use. */
  #join(pieces: readonly ByteRange[]): Buffer {
    const joined = joinRanges(pieces)
    for (const { bytes } of pieces) if (bytes !== joined.bytes) releaseBytes(bytes)
    this.#given = joined.bytes
    return viewOf(joined)
  }

  #free(): void {
    if (this.#given !== undefined) releaseBytes(this.#given)
    this.#given = undefined
  }

  #untilWoken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  get #isOpen(): boolean {
    return !this.#hasEnded && this.#failure === undefined && this.#takeRest === undefined
  }

  #settle(): void {
    this.#hasEnded = true
    this.#signal.removeEventListener('abort', this.#giveUp)
    this.#over.resolve()
  }

  #fail(error: unknown): void {
    if (this.#hasEnded || this.#failure !== undefined) return
    this.#failure = error ?? new BrokenOff('broken')
    this.#settle()
    this.#connection?.abandon()
    this.#begun.reject(this.#failure)
    this.#wake?.()
  }
}
