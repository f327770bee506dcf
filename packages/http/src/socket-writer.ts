/** Writes to a socket and buffers what it did not accept, so that callers need not. */
import type { Socket } from 'bun'
import { type ByteRange, viewOf } from './byte-range.ts'

/** Assembles small messages. On return, the socket has accepted all of it or we have copied the rest. */
const scratch = Buffer.allocUnsafeSlow(320 * 1024)
/** A head and a body longer than this are written separately. */
const joinBytes = 32 * 1024
const none: readonly Uint8Array[] = []

export class SocketWriter {
  readonly #socket: Pick<Socket<unknown>, 'write'>
  #held: Uint8Array[] = []
  #onDrain: (() => void) | undefined

  constructor(socket: Pick<Socket<unknown>, 'write'>) {
    this.#socket = socket
  }

  /** Whether bytes are waiting for the peer; writers should then wait for `whenDrained`. */
  get blocked(): boolean {
    return this.#held.length > 0
  }

  /** False if not everything was sent: the rest is buffered, and the caller should wait. */
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

  /** Writes a Latin-1 head and the bytes after it, in one write if they are small. */
  writeMessage(head: string, body: ByteRange, pieces: readonly Uint8Array[] = none): boolean {
    const bodyBytes = body.end - body.start
    let size = head.length + bodyBytes
    for (const piece of pieces) size += piece.length
    if (size > joinBytes || this.#held.length > 0) {
      this.write(Buffer.from(head, 'latin1'))
      if (bodyBytes > 0) this.write(viewOf(body))
      for (const piece of pieces) this.write(piece)
      return !this.blocked
    }
    scratch.write(head, 0, 'latin1')
    let at = head.length
    body.bytes.copy(scratch, at, body.start, body.end)
    at += bodyBytes
    for (const piece of pieces) {
      scratch.set(piece, at)
      at += piece.length
    }
    return this.#writeScratch(size)
  }

  /** Several pieces between a head and an end, in one write; they can be reused when it returns. */
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
    return this.#writeScratch(size)
  }

  #writeScratch(size: number): boolean {
    const taken = Math.max(0, this.#socket.write(scratch, 0, size))
    if (taken === size) return true
    this.#held.push(Buffer.from(scratch.subarray(taken, size)))
    return false
  }

  /** Calls `then` once all buffered bytes were sent; immediately if there are none. */
  whenDrained(then: () => void): void {
    if (this.blocked) this.#onDrain = then
    else then()
  }

  /** The socket is gone: drops what is waiting. */
  abandon(): void {
    this.#held = []
    this.drain()
  }

  /** Call when the socket can accept more. */
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
