/** Seals a streamed answer on a clock: frames of one size at one pace, whatever is inside. */
import {
  type Bytes,
  dataRecord,
  endRecord,
  headRecord,
  joinBytes,
  recordOverhead,
  wholeRecord,
} from '@privatemode/protocol/envelope'
import type { Outgoing, Sink } from './seal-stream.ts'
import { type Shape, shapedFrames } from './traffic-shape.ts'
import { WaitingBytes } from './waiting-bytes.ts'

/** The engine is asked for more while fewer frames than this wait. */
const maxWaitingFrames = 64
/** More waiting than goes out in so many ticks means that the engine is faster than the clock. */
const patienceTicks = 4

/**
 * Pieces wait for the next tick and are joined or cut there, so that neither a token's length nor
 * its time shows. A tick without pieces sends an empty frame. After the last piece the frames go
 * on to a length that many answers share. An engine that is faster than the clock doubles the
 * frames of every tick from then on: the pace tells how fast the engine is, not what it says.
 */
export async function sealShaped(
  out: Outgoing,
  pieces: AsyncIterable<Bytes>,
  shape: Shape,
  sink: Sink,
): Promise<void> {
  const { frameBytes, tickMs } = shape
  const waiting = new WaitingBytes(frameBytes * maxWaitingFrames)
  const reading = waiting.fill(pieces)
  // Room for the mark of a whole body is kept in every frame: it must not cost a tick.
  const capacity = frameBytes - 2 * recordOverhead
  let [frames, framesPerTick, isMarked] = [0, 1, false]

  const sealFrame = async (before: readonly Bytes[]) => {
    const used = before.reduce((sum, part) => sum + part.length, 0)
    const data = waiting.take(Math.max(0, capacity - used))
    const records = [...before, ...(data.length === 0 ? [] : dataRecord(data))]
    if (shape.marksWhole && !isMarked && waiting.ended) {
      isMarked = true
      records.push(...wholeRecord())
    }
    frames++
    return await out.sealer.seal(records, false, frameBytes)
  }

  // Told once the frame with the mark is on its way, not when it was made.
  const send = async (bytes: Bytes) => {
    await sink(bytes)
    if (isMarked) out.whole?.()
  }

  // The engine has begun when there is an answer to seal, so the first piece goes with the head.
  await waiting.untilAny()
  await send(joinBytes([out.sealer.prelude, await sealFrame(headRecord(out.head))]))
  const isOver = () => waiting.ended && frames === shapedFrames(frames, shape)
  for (let due = performance.now() + tickMs; !isOver(); due += tickMs) {
    await pause(due - performance.now())
    if (due < performance.now() - tickMs) due = performance.now()
    const sealed: Bytes[] = []
    while (sealed.length < framesPerTick && !isOver()) sealed.push(await sealFrame([]))
    await send(joinBytes(sealed))
    if (waiting.length > framesPerTick * patienceTicks * capacity) framesPerTick *= 2
  }
  await reading
  await sink(await out.sealer.seal(endRecord(out.finish()), true, frameBytes * 2))
}

const pause = (ms: number) =>
  ms <= 0 ? undefined : new Promise<void>((resolve) => setTimeout(resolve, ms))
