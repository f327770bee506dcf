/** Seals a streamed answer on a clock: the same number of bytes on every tick, whatever is inside. */
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
import { alignTick, untilTick } from './shared-ticks.ts'
import { type Shape, shapedUnits } from './traffic-shape.ts'
import { WaitingBytes } from './waiting-bytes.ts'

/** The engine is asked for more while less than this waits: enough to see that it is in a hurry. */
const maxWaitingUnits = 128
/** The most that a frame and a tick hold. */
const maxUnits = 32
/** An engine is faster than the clock if more than a tick carries waits for so many ticks, */
const patienceTicks = 8
/** or if more waits than goes out in so many: nobody wants to wait for that. */
const burstTicks = 16
/** After a longer stop the clock begins anew: a machine that slept owes no hours of frames. */
const maxOwedTicks = 16
/** Room for the receipt, whose length would tell how many digits its counts have. */
const lastFrameBytes = 2048
// Room for the mark of a whole body is kept in every frame: it must not cost a tick.
const frameRoom = 2 * recordOverhead

/**
 * Pieces wait for the next tick and are joined or cut there, so that neither a token's length nor
 * its time shows. A tick without pieces sends an empty frame. After the last piece the frames go
 * on to a length that many answers share. An engine that is faster than the clock doubles the
 * bytes of every tick from then on: the pace tells how fast the engine is, not what it says.
 */
export async function sealShaped(
  out: Outgoing,
  pieces: AsyncIterable<Bytes>,
  shape: Shape,
  sink: Sink,
): Promise<void> {
  const { unitBytes, tickMs } = shape
  const waiting = new WaitingBytes(unitBytes * maxWaitingUnits)
  const reading = waiting.fill(pieces)
  let [units, unitsPerTick, lateTicks, isMarked] = [0, 1, 0, false]

  /** Once all of the answer is known, no more than up to the length at which it will end. */
  const withinEnd = (count: number) => {
    if (!waiting.closed) return count
    const needed = waiting.length === 0 ? 0 : Math.ceil((waiting.length + frameRoom) / unitBytes)
    return Math.min(count, shapedUnits(units + needed, shape) - units)
  }

  const sealFrame = async (before: readonly Bytes[], count: number) => {
    const used = before.reduce((sum, part) => sum + part.length, frameRoom)
    const data = waiting.take(Math.max(0, count * unitBytes - used))
    const records = [...before, ...(data.length === 0 ? [] : dataRecord(data))]
    if (shape.marksWhole && !isMarked && waiting.ended) {
      isMarked = true
      records.push(...wholeRecord())
    }
    units += count
    return await out.sealer.seal(records, false, count * unitBytes)
  }

  // Told once the frame with the mark is on its way, not when it was made.
  const send = async (bytes: Bytes) => {
    await sink(bytes)
    if (isMarked) out.whole?.()
  }

  // The engine has begun when there is an answer to seal, so the first piece goes with the head.
  await waiting.untilAny()
  await send(joinBytes([out.sealer.prelude, await sealFrame(headRecord(out.head), 1)]))
  const isOver = () => waiting.ended && units === shapedUnits(units, shape)
  for (let due = alignTick(performance.now() + tickMs, tickMs); !isOver(); ) {
    await untilTick(due)
    // A busy machine is late; the frames that it owes keep the pace what it is for everyone.
    const ticks = Math.min(maxOwedTicks, 1 + Math.max(0, (performance.now() - due) / tickMs)) | 0
    due = Math.max(due + ticks * tickMs, alignTick(performance.now(), tickMs))
    const sealed: Bytes[] = []
    // No more than a full frame: on a machine that is late, long debts would make it later still.
    for (let owed = Math.min(ticks * unitsPerTick, maxUnits); owed > 0 && !isOver(); ) {
      // What goes out together is sealed together: a watcher sees the sum in either case.
      const count = withinEnd(Math.min(owed, unitsPerTick))
      sealed.push(await sealFrame([], count))
      owed -= count
    }
    await send(joinBytes(sealed))
    const dueTicks = waiting.length / (unitsPerTick * unitBytes - frameRoom)
    lateTicks = dueTicks > 1 ? lateTicks + 1 : 0
    if (lateTicks >= patienceTicks || dueTicks > burstTicks) {
      unitsPerTick *= 2
      lateTicks = 0
    }
  }
  await reading
  await sink(await out.sealer.seal(endRecord(out.finish()), true, lastFrameBytes))
}
