/** Writes to a socket and keeps what it did not take, so that nobody else has to. */
import type { Socket } from 'bun'
import { type ByteRange, viewOf } from './byte-range.ts'

/** Where small messages are put together; a socket has taken or we have copied all when we return. */
const scratch = Buffer.allocUnsafeSlow(320 * 1024)
/** A head and a body of more than this are written one after the other. */
const joinBytes = 32 * 1024

export class SocketWriter {
  readonly #socket: Pick<Socket<unknown>, 'write'>
  #held: Uint8Array[] = []
  #onDrain: (() => void) | undefined

  constructor(socket: Pick<Socket<unknown>, 'write'>) {
    this.#socket = socket
  }

  /** Whether bytes wait for the other end; who writes then, waits for `whenDrained`. */
  get blocked(): boolean {
    return this.#held.length > 0
  }

  /** False if not all went out: the rest is held, and the caller waits. */
  write(bytes: Uint8Array): boolean {
    if (this.#held.length === 0) {
      const taken = Math.max(0, this.#socket.write(bytes))
      if (taken === bytes.length) return true
      this.#held.push(bytes.subarray(taken))
    } else {
      this.#held.push(bytes)
    }
    return false
  }

  /** A head in Latin-1 and bytes behind it, in one write where they are small. */
  writeMessage(head: string, body: ByteRange): boolean {
    const bodyBytes = body.end - body.start
    if (head.length + bodyBytes > joinBytes || this.#held.length > 0) {
      this.write(Buffer.from(head, 'latin1'))
      return bodyBytes === 0 ? !this.blocked : this.write(viewOf(body))
    }
    scratch.write(head, 0, 'latin1')
    body.bytes.copy(scratch, head.length, body.start, body.end)
    const size = head.length + bodyBytes
    const taken = Math.max(0, this.#socket.write(scratch, 0, size))
    if (taken === size) return true
    this.#held.push(Buffer.from(scratch.subarray(taken, size)))
    return false
  }

  /** Several pieces between a head and an end, in one write; they can be used again when it returns. */
  writePieces(head: string, pieces: readonly Uint8Array[], end: string): boolean {
    let size = head.length + end.length
    for (const piece of pieces) size += piece.length
    if (size > scratch.length || this.#held.length > 0) {
      return this.write(Buffer.concat([latin1(head), ...pieces, latin1(end)], size))
    }
    let at = scratch.write(head, 0, 'latin1')
    for (const piece of pieces) {
      scratch.set(piece, at)
      at += piece.length
    }
    scratch.write(end, at, 'latin1')
    const taken = Math.max(0, this.#socket.write(scratch, 0, size))
    if (taken === size) return true
    this.#held.push(Buffer.from(scratch.subarray(taken, size)))
    return false
  }

  /** Calls `then` once when all that is held has gone out; at once if nothing is. */
  whenDrained(then: () => void): void {
    if (this.blocked) this.#onDrain = then
    else then()
  }

  /** The socket is gone: nothing waits any longer. */
  abandon(): void {
    this.#held = []
    this.drain()
  }

  /** To be called when the socket can take more. */
  drain(): void {
    while (this.#held.length > 0) {
      const [bytes] = this.#held
      if (bytes === undefined) break
      const taken = Math.max(0, this.#socket.write(bytes))
      if (taken < bytes.length) {
        this.#held[0] = bytes.subarray(taken)
        return
      }
      this.#held.shift()
    }
    const then = this.#onDrain
    this.#onDrain = undefined
    then?.()
  }
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')
