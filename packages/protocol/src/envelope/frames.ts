/**
 * Frames: length, flags, ciphertext, tag. They are the unit of encryption: ordered, with a marked
 * end.
 */
import { joinBytes, readUint32, writeUint32, writeUint64 } from './byte-strings.ts'
import { type AeadKey, andThen, type Bytes, type Eventually } from './crypto-provider.ts'
import { EnvelopeError } from './envelope-error.ts'

export const maxFramePlaintext = 256 * 1024
/**
 * Every frame of a request but the last is at least half full, so its size bounds the work of
 * opening its frames. Answers may have short frames, since tokens are short.
 */
export const leastRequestFrame = maxFramePlaintext / 2
export const frameOverhead = 5 + 16
const headerLength = 5
const nothing = new Uint8Array(0)
const tagLength = 16
const lastFlag = 0x01
// A counter that wraps would repeat a nonce. 2^32 frames are far beyond every body limit.
const defaultMaxFrames = 0x1_0000_0000

/** Seals frames in order; refuses to seal after the last one. */
export class FrameSealer {
  readonly #key: AeadKey
  readonly #maxFrames: number
  #counter = 0
  #ended = false

  constructor(key: AeadKey, maxFrames = defaultMaxFrames) {
    this.#key = key
    this.#maxFrames = maxFrames
  }

  /** Returns the frame in pieces: header, ciphertext, tag. */
  seal(plaintext: readonly Bytes[], last: boolean): Eventually<readonly Bytes[]> {
    if (this.#ended) throw new EnvelopeError('trailing_bytes', 'the last frame was sealed already')
    if (this.#counter >= this.#maxFrames) throw new EnvelopeError('too_large', 'too many frames')
    let length = 0
    for (const part of plaintext) length += part.length
    if (length > maxFramePlaintext) {
      throw new EnvelopeError('too_large', `a frame holds ${maxFramePlaintext} bytes at most`)
    }
    const header = frameHeader(length + tagLength, last)
    const nonce = frameNonce(this.#counter++)
    this.#ended = last
    return andThen(this.#key.seal(nonce, header, plaintext), (sealed) => [header, ...sealed])
  }
}

export type OpenedFrame = { readonly plaintext: Bytes; readonly last: boolean }

/** Not in every runtime (ECMAScript 2024). */
type Transferable = { readonly transfer?: (length: number) => unknown }

/** Shorter ones are not worth the call. */
const worthFreeingBytes = 1024

/**
 * Frees a frame of which nothing is needed any more: waiting for the collector, it would be memory
 * that the next frame cannot use. A buffer that is much longer may hold something else, too.
 */
export function freeFrame({ plaintext: { buffer, length } }: OpenedFrame): void {
  if (length < worthFreeingBytes || buffer.byteLength > length + tagLength) return
  ;(buffer as Transferable).transfer?.(0)
}

type OpeningFrame = {
  readonly plaintext: Eventually<Bytes | undefined>
  /** As claimed by the header; only valid once the frame is authenticated. */
  readonly last: boolean
  readonly position: number
}

export type FrameLimits = {
  readonly maxFrames?: number
  /** Only the last frame may have fewer bytes of plaintext. */
  readonly leastPlaintext?: number
}

/**
 * Where the frame that starts at `at` ends according to its header, which is not authenticated yet.
 */
export const endOfFrame = (bytes: Bytes, at: number): number =>
  at + headerLength + readUint32(bytes, at)

/**
 * Opens frames from bytes that arrive in arbitrary chunks. Errors are sticky: after the first,
 * every call throws it again. With an asynchronous provider, a push must settle before the next
 * one.
 */
export class FrameOpener {
  readonly #key: AeadKey
  readonly #maxFrames: number
  readonly #leastPlaintext: number
  #waiting: Bytes[] = []
  #waitingLength = 0
  #needed = headerLength
  #counter = 0
  #ended = false
  #failure: unknown

  constructor(key: AeadKey, limits: FrameLimits = {}) {
    this.#key = key
    this.#maxFrames = limits.maxFrames ?? defaultMaxFrames
    this.#leastPlaintext = limits.leastPlaintext ?? 0
  }

  /** Whether part of a frame is buffered. */
  get holdsBytes(): boolean {
    return this.#waitingLength > 0
  }

  push(chunk: Bytes): Eventually<OpenedFrame[]> {
    this.#throwIfFailed()
    if (chunk.length > 0) {
      this.#waiting.push(chunk)
      this.#waitingLength += chunk.length
    }
    const opened: OpenedFrame[] = []
    try {
      const drained = this.#drain(opened)
      if (!(drained instanceof Promise)) return opened
      return drained.then(
        () => opened,
        (error) => this.#fail(error),
      )
    } catch (error) {
      return this.#fail(error)
    }
  }

  /** Throws unless the last frame was opened and nothing followed it. */
  finish(): void {
    this.#throwIfFailed()
    if (!this.#ended) {
      this.#fail(new EnvelopeError('truncated', 'the stream stopped before its authenticated end'))
    }
  }

  #drain(opened: OpenedFrame[]): Eventually<void> {
    for (;;) {
      const frame = this.#open()
      if (frame === undefined) return
      if (frame.plaintext instanceof Promise) return this.#drainTogether(frame, opened)
      this.#accept(frame, frame.plaintext, opened)
    }
  }

  /** WebCrypto works on another thread: frames that arrive together are opened concurrently. */
  async #drainTogether(first: OpeningFrame, opened: OpenedFrame[]): Promise<void> {
    const opening = [first]
    for (let frame: OpeningFrame | undefined = first; frame !== undefined && !frame.last; ) {
      frame = this.#open()
      if (frame !== undefined) opening.push(frame)
    }
    for (const frame of opening) this.#accept(frame, await frame.plaintext, opened)
    // Bytes after the last frame are refused only now, once that frame is known to be authentic.
    if (this.#ended) this.#take()
  }

  #open(): OpeningFrame | undefined {
    const frame = this.#take()
    if (frame === undefined) return undefined
    const position = this.#counter++
    const { header, ciphertextAndTag, last } = frame
    const plaintext = this.#key.open(frameNonce(position), header, ciphertextAndTag)
    return { plaintext, last, position }
  }

  #accept(frame: OpeningFrame, plaintext: Bytes | undefined, opened: OpenedFrame[]): void {
    const { last, position } = frame
    if (plaintext === undefined) {
      throw new EnvelopeError('authentication_failed', `frame ${position} is not authentic`)
    }
    this.#ended = last
    opened.push({ plaintext, last })
  }

  #take(): { header: Bytes; ciphertextAndTag: Bytes; last: boolean } | undefined {
    if (this.#ended && this.#waitingLength > 0) {
      throw new EnvelopeError('trailing_bytes', 'bytes follow the authenticated end')
    }
    if (this.#waitingLength < this.#needed) return undefined
    const bytes = joinBytes(this.#waiting)
    const length = readUint32(bytes, 0)
    const flags = bytes[4] ?? 0
    if (flags > lastFlag) throw new EnvelopeError('malformed', `unknown frame flags ${flags}`)
    if (length < tagLength) throw new EnvelopeError('malformed', 'a frame is shorter than its tag')
    if (length > maxFramePlaintext + tagLength) {
      throw new EnvelopeError('too_large', `a frame of ${length} bytes is over the limit`)
    }
    if (flags !== lastFlag && length - tagLength < this.#leastPlaintext) {
      throw new EnvelopeError('malformed', 'a frame before the last is too short')
    }
    if (this.#counter >= this.#maxFrames) throw new EnvelopeError('too_large', 'too many frames')
    const end = headerLength + length
    if (bytes.length < end) {
      this.#keep(bytes, end)
      return undefined
    }
    this.#keep(end === bytes.length ? nothing : bytes.subarray(end), headerLength)
    const header = bytes.subarray(0, headerLength)
    return { header, ciphertextAndTag: bytes.subarray(headerLength, end), last: flags === lastFlag }
  }

  #keep(rest: Bytes, needed: number): void {
    this.#waiting = rest.length === 0 ? [] : [rest]
    this.#waitingLength = rest.length
    this.#needed = needed
  }

  #throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  #fail(error: unknown): never {
    this.#failure = error
    this.#waiting = []
    throw error
  }
}

function frameHeader(length: number, last: boolean): Bytes {
  const header = new Uint8Array(headerLength)
  writeUint32(header, 0, length)
  header[4] = last ? lastFlag : 0
  return header
}

function frameNonce(counter: number): Bytes {
  const nonce = new Uint8Array(12)
  writeUint64(nonce, 4, counter)
  return nonce
}
