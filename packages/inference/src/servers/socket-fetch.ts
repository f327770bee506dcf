/**
 * `fetch` over plain sockets, as much of it as a model server needs.
 *
 * The runtime's own runs on a thread of its own and hands every piece over through a web stream: for
 * a server beside the worker that costs more than all else that is done with an answer.
 */
import {
  type ByteRange,
  type Failure,
  type PooledSink,
  type ResponseHead,
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
  // Who asks has a watch of its own.
  silentMs: Number.POSITIVE_INFINITY,
}
/** A server is read from again when its reader has taken what came. */
const maxHeldBytes = 256 * 1024
const maxWholeBytes = 256 * 1024 * 1024

export type SocketFetch = { readonly fetch: ServerFetch; close(): void }

/** For plain http alone. */
export function createSocketFetch(): SocketFetch {
  const pool = new UpstreamPool({ limits, clock: () => performance.now(), caPem: undefined })
  return {
    async fetch(address, init) {
      const url = new URL(address)
      const { origin } = url
      const message = formatRequest(url, init)
      const answer = new SocketAnswer(init.signal)
      pool.send(origin, message, answer, Number.POSITIVE_INFINITY)
      await answer.begun
      return answer
    },
    close: () => pool.close(),
  }
}

function formatRequest({ host, pathname, search }: URL, asked: ServerAsk): UpstreamMessage {
  const { method, headers } = asked
  const body = Buffer.from(asked.body ?? '')
  let head = `${method} ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\n`
  for (const [name, value] of Object.entries(headers)) {
    // A line break here would be a second request.
    if (!/^[\x20-\x7e]*$/.test(value)) throw new TypeError('a header has a character it must not')
    head += `${name}: ${value}\r\n`
  }
  head += method === 'GET' ? '\r\n' : `content-length: ${body.length}\r\n\r\n`
  return { head, body: { bytes: body, start: 0, end: body.length }, lengthBytes: body.length }
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
  readonly #begun = Promise.withResolvers<void>()
  readonly #giveUp = () => {
    this.#pieces = []
    this.#fail(this.#signal.reason)
  }
  readonly #over = Promise.withResolvers<void>()
  #takeRest: ((piece: Uint8Array) => void) | undefined
  #connection: UpstreamConnection | undefined
  #status = 0
  #pieces: Buffer[] = []
  #heldBytes = 0
  #isRead = false
  #hasEnded = false
  #failure: unknown
  #wake: (() => void) | undefined

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.throwIfAborted()
    signal.addEventListener('abort', this.#giveUp)
    this.#begun.promise.catch(() => {}) // who asks may have been told already
  }

  get status(): number {
    return this.#status
  }

  get ok(): boolean {
    return this.#status >= 200 && this.#status < 300
  }

  /** Resolves when status and fields are there. */
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
      this.#pieces.push(viewOf(range))
      this.#heldBytes += range.end - range.start
    }
    if (ended) this.#settle()
    else if (this.#heldBytes > maxHeldBytes) this.#connection?.pause()
    this.#wake?.()
  }

  fail(failure: Failure, cause?: unknown): void {
    this.#fail(cause ?? new BrokenOff(failure))
  }

  /**
   * All that came since the last time, as one piece; the first time what came first, so that the
   * first token does not wait for the work on those that came with it.
   */
  async read(): Promise<{ done: false; value: Uint8Array } | { done: true; value: undefined }> {
    while (this.#pieces.length === 0 && this.#isOpen) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const pieces = this.#pieces.splice(0, this.#isRead ? this.#pieces.length : 1)
    const [only] = pieces
    if (only !== undefined) {
      this.#isRead = true
      const value = pieces.length === 1 ? only : Buffer.concat(pieces)
      this.#heldBytes -= value.length
      if (!this.#hasEnded) this.#connection?.resume()
      return { done: false, value }
    }
    if (this.#failure !== undefined) throw this.#failure
    if (this.#takeRest !== undefined) throw new BrokenOff('broken')
    return { done: true, value: undefined }
  }

  hangUp(take: (piece: Uint8Array) => void): Promise<void> {
    for (const piece of this.#pieces.splice(0)) take(piece)
    this.#takeRest = take
    if (!this.#hasEnded) this.#connection?.hangUp()
    this.#wake?.()
    return this.#over.promise
  }

  async cancel(): Promise<void> {
    this.#fail(new BrokenOff('broken'))
  }

  async text(): Promise<string> {
    const parts: Uint8Array[] = []
    let size = 0
    for (let next = await this.read(); !next.done; next = await this.read()) {
      size += next.value.length
      if (size > maxWholeBytes) {
        await this.cancel()
        throw new RangeError('the answer is too long')
      }
      parts.push(next.value)
    }
    return Buffer.concat(parts, size).toString('utf8')
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text())
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
