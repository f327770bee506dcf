/** Turns the pieces of an answer into sealed bytes: as a whole, or piece by piece as they arrive. */
import {
  type AnswerHead,
  type AnswerSealer,
  type Bytes,
  dataRecord,
  endRecord,
  headRecord,
  maxFramePlaintext,
  padmeLength,
  recordOverhead,
} from '@privatemode/protocol/envelope'
import { untilTick } from './shared-ticks.ts'
import { classOf, type WholeShape } from './traffic-shape.ts'
import { WaitingBytes } from './waiting-bytes.ts'

/**
 * Writes sealed bytes, which must not be used any more once it returns; resolves when the reader can
 * accept more.
 */
export type Sink = (pieces: readonly Bytes[], isLast?: boolean) => void | Promise<void>

export type Outgoing = {
  readonly sealer: AnswerSealer
  readonly head: AnswerHead
  /** Called when the whole body was sent and only padding follows. */
  readonly whole?: () => void
  /** Called once at the end; returns the receipt. */
  readonly finish: () => Bytes
}

const minimumWhole = 1024
const maxData = maxFramePlaintext - recordOverhead
const momentMs = 1

/** Seals a complete answer: in one frame if it fits, padded to a length that hides its own. */
export async function sealWhole(
  out: Outgoing,
  body: Bytes,
  shape?: WholeShape,
): Promise<readonly Bytes[]> {
  const head = headRecord(out.head)
  const end = endRecord(out.finish())
  const small = [...head, ...dataRecord(body), ...end]
  const length = sizeOf(small)
  if (length <= maxFramePlaintext) {
    const padTo = Math.min(paddedLength(length, shape), maxFramePlaintext)
    return [out.sealer.prelude, ...(await out.sealer.sealPieces(small, true, padTo))]
  }
  const frames = [out.sealer.prelude, ...(await out.sealer.sealPieces(head, false))]
  const needed = Math.ceil(body.length / maxData)
  const count = shape === undefined ? needed : classOf(needed, 1, shape.growth)
  for (let offset = 0; offset < count * maxData; offset += maxData) {
    const piece = body.subarray(offset, offset + maxData)
    // Every frame of a long answer is full: its length shows only in steps of a frame.
    const records = piece.length === 0 ? [] : dataRecord(piece)
    frames.push(...(await out.sealer.sealPieces(records, false, maxFramePlaintext)))
  }
  frames.push(...(await out.sealer.sealPieces(end, true, minimumWhole)))
  return frames
}

function paddedLength(length: number, shape: WholeShape | undefined): number {
  if (shape === undefined) return padmeLength(Math.max(length, minimumWhole))
  return classOf(length, shape.leastBytes, shape.growth)
}

/**
 * Pieces are sent as soon as they arrive. Only pieces that arrive within a moment of the previous
 * ones wait for its end and share a frame: with a fast engine, each frame would be paid for three
 * times, here, in the gateway and in the client.
 */
export async function sealPieces(
  out: Outgoing,
  pieces: AsyncIterable<Bytes>,
  sink: Sink,
): Promise<void> {
  const waiting = new WaitingBytes(maxData)
  const reading = waiting.fill(pieces, true)
  let frames = [out.sealer.prelude]
  // The engine has begun once there is an answer to seal, so the first piece is sent with the head.
  let head: Bytes[] = headRecord(out.head)
  let soonUntilMs = Number.NEGATIVE_INFINITY
  try {
    for (;;) {
      await waiting.untilAny()
      const isSoon = performance.now() < soonUntilMs
      if (isSoon) await waiting.untilClosed(untilTick(Math.ceil(performance.now() + momentMs)))
      while (head.length > 0 || waiting.length > 0) {
        const data = waiting.take(maxData - sizeOf(head))
        const records = [...head, ...(data.length === 0 ? [] : dataRecord(...data))]
        frames.push(...(await out.sealer.sealPieces(records, false)))
        head = []
      }
      // A failure of the source surfaces after everything before it was sent.
      if (frames.length > 0) await sink(frames)
      if (waiting.ended) break
      soonUntilMs = performance.now() + momentMs
      frames = []
    }
    await sink(await out.sealer.sealPieces(endRecord(out.finish()), true), true)
  } finally {
    waiting.abandon()
  }
  await reading
}

const sizeOf = (parts: readonly Bytes[]) => parts.reduce((sum, part) => sum + part.length, 0)
