/** Turns the pieces of an answer into sealed bytes: whole, piece by piece, or shaped on a clock. */
import {
  type AnswerHead,
  type AnswerSealer,
  type Bytes,
  dataRecord,
  endRecord,
  headRecord,
  joinBytes,
  maxFramePlaintext,
  padmeLength,
  recordOverhead,
} from '@privatemode/protocol/envelope'
import type { Shape } from './traffic-shape.ts'

/** Takes sealed bytes; resolves when the reader can take more. */
export type Sink = (bytes: Bytes) => void | Promise<void>

export type Outgoing = {
  readonly sealer: AnswerSealer
  readonly head: AnswerHead
  /** Called once at the end; gives the receipt. */
  readonly finish: () => Bytes
}

const minimumWhole = 1024
const maxData = maxFramePlaintext - recordOverhead

/** An answer that is there at once: one frame where it fits, padded to a length that hides its own. */
export async function sealWhole(out: Outgoing, body: Bytes): Promise<Bytes> {
  const head = headRecord(out.head)
  const end = endRecord(out.finish())
  const small = [...head, ...dataRecord(body), ...end]
  const length = small.reduce((sum, part) => sum + part.length, 0)
  if (length <= maxFramePlaintext) {
    const padTo = Math.min(padmeLength(Math.max(length, minimumWhole)), maxFramePlaintext)
    return joinBytes([out.sealer.prelude, await out.sealer.seal(small, true, padTo)])
  }
  const frames = [out.sealer.prelude, await out.sealer.seal(head, false)]
  for (let offset = 0; offset < body.length; offset += maxData) {
    const piece = dataRecord(body.subarray(offset, offset + maxData))
    // Every frame of a long answer is full: its length shows in steps of a frame only.
    frames.push(await out.sealer.seal(piece, false, maxFramePlaintext))
  }
  frames.push(await out.sealer.seal(end, true, minimumWhole))
  return joinBytes(frames)
}

/** Every piece is a frame as soon as it is there. */
export async function sealPieces(
  out: Outgoing,
  pieces: AsyncIterable<Bytes>,
  sink: Sink,
): Promise<void> {
  const head = await out.sealer.seal(headRecord(out.head), false)
  await sink(joinBytes([out.sealer.prelude, head]))
  for await (const piece of pieces) {
    for (let offset = 0; offset < piece.length; offset += maxData) {
      const frame = await out.sealer.seal(
        dataRecord(piece.subarray(offset, offset + maxData)),
        false,
      )
      await sink(frame)
    }
  }
  await sink(await out.sealer.seal(endRecord(out.finish()), true))
}

/**
 * Frames of one size on a clock. Pieces wait for the next tick and are joined or cut there, so
 * that neither a token's length nor its boundary shows. What waits is bounded by the engine: it
 * is asked for more only while less than a few frames wait.
 */
export async function sealShaped(
  out: Outgoing,
  pieces: AsyncIterable<Bytes>,
  shape: Shape,
  sink: Sink,
): Promise<void> {
  const waiting = new WaitingBytes()
  const reading = readInto(waiting, pieces, shape.frameBytes * 16)
  await sink(out.sealer.prelude)
  await sink(await out.sealer.seal(headRecord(out.head), false, shape.frameBytes))
  let frames = 1
  let due = performance.now()
  const capacity = shape.frameBytes - recordOverhead
  for (;;) {
    due += shape.tickMs
    if (!shape.cover) await waiting.untilAny()
    await pause(due - performance.now())
    if (due < performance.now() - shape.tickMs) due = performance.now()
    // A covered stream keeps its pace whatever waits; otherwise all that waits goes out now.
    const most = shape.cover ? capacity : Number.POSITIVE_INFINITY
    for (const data of waiting.take(most, capacity)) {
      await sink(await out.sealer.seal(dataRecord(data), false, shape.frameBytes))
      frames++
    }
    if (waiting.ended && frames % shape.lengthStep === 0) break
    if (shape.cover && waiting.tookNothing) {
      await sink(await out.sealer.seal([], false, shape.frameBytes))
      frames++
    }
  }
  await reading
  await sink(await out.sealer.seal(endRecord(out.finish()), true, shape.frameBytes * 2))
}

/** Bytes on their way from the engine to the next tick. */
class WaitingBytes {
  #parts: Bytes[] = []
  #length = 0
  #closed = false
  #failure: unknown
  #wake: (() => void) | undefined
  #room: (() => void) | undefined
  tookNothing = false

  get ended(): boolean {
    if (this.#failure !== undefined) throw this.#failure
    return this.#closed && this.#length === 0
  }

  async add(bytes: Bytes, limit: number): Promise<void> {
    this.#parts.push(bytes)
    this.#length += bytes.length
    this.#wake?.()
    while (this.#length > limit) {
      await new Promise<void>((resolve) => {
        this.#room = resolve
      })
    }
  }

  close(failure?: unknown): void {
    this.#closed = true
    this.#failure = failure
    this.#wake?.()
  }

  async untilAny(): Promise<void> {
    if (this.#length > 0 || this.#closed) return
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
  }

  /** At most `most` bytes in pieces of at most `size`. */
  take(most: number, size: number): Bytes[] {
    const all = joinBytes(this.#parts)
    const end = Math.min(all.length, most)
    const pieces: Bytes[] = []
    for (let at = 0; at < end; at += size) pieces.push(all.subarray(at, Math.min(at + size, end)))
    this.#parts = end < all.length ? [all.subarray(end)] : []
    this.#length = all.length - end
    this.tookNothing = pieces.length === 0
    this.#room?.()
    return pieces
  }
}

async function readInto(
  waiting: WaitingBytes,
  pieces: AsyncIterable<Bytes>,
  limit: number,
): Promise<void> {
  try {
    for await (const piece of pieces) await waiting.add(piece, limit)
    waiting.close()
  } catch (error) {
    waiting.close(error)
  }
}

const pause = (ms: number) =>
  ms <= 0 ? undefined : new Promise<void>((resolve) => setTimeout(resolve, ms))
