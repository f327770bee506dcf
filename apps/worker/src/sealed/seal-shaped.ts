/** Seals a streamed answer on a clock: the same number of bytes on every tick, whatever the content. */
import {
  type AnswerSealer,
  type Bytes,
  dataRecord,
  endRecord,
  headRecord,
  recordOverhead,
  wholeRecord,
} from '@privatemode/protocol/envelope'
import type { Outgoing, Sink } from './seal-stream.ts'
import { alignTick, untilTick } from './shared-ticks.ts'
import { maxUnits, type StreamShape, shapedUnits } from './traffic-shape.ts'
import { WaitingBytes } from './waiting-bytes.ts'

/** The engine is read while less than this is buffered: enough to notice that it outpaces the clock. */
const maxWaitingUnits = 128
/** After a longer pause the clock starts over: a machine that slept does not owe hours of frames. */
const maxOwedTicks = 16
/** Padded length of the receipt, whose own length would reveal how many digits its counts have. */
const lastFrameBytes = 2048
// Every frame reserves space for the mark of a complete body: it must not cost a tick.
const frameRoom = 2 * recordOverhead

/** An answer that has begun. */
export type Begun = { readonly out: Outgoing; readonly pieces: AsyncIterable<Bytes> }

/** Seals an answer that has begun: its first piece goes out with the head, if it comes soon. */
export function sealShaped(
  out: Outgoing,
  pieces: AsyncIterable<Bytes>,
  shape: StreamShape,
  sink: Sink,
): Promise<void> {
  return new ShapedSealing(out.sealer, shape, sink).run({ out, pieces })
}

/** Seals an answer that has not begun: only padding is sent until it does. */
export function sealFromStart(
  sealer: AnswerSealer,
  begun: Promise<Begun>,
  shape: StreamShape,
  sink: Sink,
): Promise<void> {
  return new ShapedSealing(sealer, shape, sink).run(begun)
}

/**
 * Pieces wait for the next tick and are joined or split there, so that neither a token's length nor
 * its timing shows. A tick without pieces sends an empty frame. After the last piece, frames
 * continue up to a length shared by many answers. If the engine is faster than the clock, the bytes
 * of every later tick double: the pace reveals how fast the engine is, not what it says.
 */
class ShapedSealing {
  readonly #sealer: AnswerSealer
  readonly #shape: StreamShape
  readonly #sink: Sink
  readonly #waiting: WaitingBytes
  #out: Outgoing | undefined
  #reading: Promise<void> | undefined
  #failure: unknown
  #isHeadSealed = false
  #isMarked = false
  #units = 0
  #unitsPerTick: number
  #lateTicks = 0

  constructor(sealer: AnswerSealer, shape: StreamShape, sink: Sink) {
    this.#sealer = sealer
    this.#shape = shape
    this.#sink = sink
    this.#unitsPerTick = shape.unitsPerTick
    this.#waiting = new WaitingBytes(shape.unitBytes * maxWaitingUnits)
  }

  run(begun: Begun | Promise<Begun>): Promise<void> {
    return this.#run(begun).finally(() => this.#waiting.abandon())
  }

  async #run(begun: Begun | Promise<Begun>): Promise<void> {
    const { tickMs, startsAfterMs } = this.#shape
    if (begun instanceof Promise) {
      begun.then(
        (known) => this.#begin(known),
        (error) => {
          this.#failure = error ?? new Error('the answer did not begin')
        },
      )
    } else {
      this.#begin(begun)
      const late = untilTick(Math.ceil(performance.now() + startsAfterMs))
      await Promise.race([this.#waiting.untilAny(), late])
    }
    await this.#send([this.#sealer.prelude, ...(await this.#sealFrame(1))])
    for (let due = alignTick(performance.now() + tickMs, tickMs); !this.#isOver(); ) {
      await untilTick(due)
      // On a busy machine ticks are late; sending the owed frames keeps the pace the same for all streams.
      const ticks = Math.min(maxOwedTicks, 1 + Math.max(0, (performance.now() - due) / tickMs)) | 0
      due = Math.max(due + ticks * tickMs, alignTick(performance.now(), tickMs))
      await this.#send(await this.#sealTicks(ticks))
      this.#judgePace()
    }
    await this.#reading
    const receipt = this.#out?.finish() ?? new Uint8Array()
    await this.#sink(await this.#sealer.sealPieces(endRecord(receipt), true, lastFrameBytes), true)
  }

  #begin({ out, pieces }: Begun): void {
    this.#out = out
    this.#reading = this.#waiting.fill(pieces)
  }

  #isOver(): boolean {
    if (this.#failure !== undefined) throw this.#failure
    if (!this.#isHeadSealed || !this.#waiting.ended) return false
    return this.#units === shapedUnits(this.#units, this.#shape)
  }

  /** At most a full frame: on a late machine, catching up on more would make it later still. */
  async #sealTicks(ticks: number): Promise<Bytes[]> {
    const sealed: Bytes[] = []
    for (let owed = Math.min(ticks * this.#unitsPerTick, maxUnits); owed > 0 && !this.#isOver(); ) {
      // Frames sent together are sealed together: an observer sees only the sum in either case.
      const count = this.#withinEnd(Math.min(owed, this.#unitsPerTick))
      sealed.push(...(await this.#sealFrame(count)))
      owed -= count
    }
    return sealed
  }

  /** Once the whole answer is known, stops at the length at which the stream will end. */
  #withinEnd(count: number): number {
    const { closed, length } = this.#waiting
    if (!closed || !this.#isHeadSealed) return count
    const needed = length === 0 ? 0 : Math.ceil((length + frameRoom) / this.#shape.unitBytes)
    return Math.min(count, shapedUnits(this.#units + needed, this.#shape) - this.#units)
  }

  async #sealFrame(count: number): Promise<readonly Bytes[]> {
    const { unitBytes, marksWhole } = this.#shape
    const head = this.#isHeadSealed || this.#out === undefined ? [] : headRecord(this.#out.head)
    if (head.length > 0) this.#isHeadSealed = true
    const used = head.reduce((sum, part) => sum + part.length, frameRoom)
    const data = this.#waiting.take(Math.max(0, count * unitBytes - used))
    const records = [...head, ...(data.length === 0 ? [] : dataRecord(...data))]
    if (marksWhole && !this.#isMarked && this.#isHeadSealed && this.#waiting.ended) {
      this.#isMarked = true
      records.push(...wholeRecord())
    }
    this.#units += count
    return await this.#sealer.sealPieces(records, false, count * unitBytes)
  }

  /** Reports the complete body once the marked frame is on its way, not when it was sealed. */
  async #send(sealed: readonly Bytes[]): Promise<void> {
    await this.#sink(sealed)
    if (this.#isMarked) this.#out?.whole?.()
  }

  #judgePace(): void {
    const { unitBytes, patienceTicks, burstTicks } = this.#shape
    const dueTicks = this.#waiting.length / (this.#unitsPerTick * unitBytes - frameRoom)
    this.#lateTicks = dueTicks > 1 ? this.#lateTicks + 1 : 0
    if (this.#lateTicks < patienceTicks && dueTicks <= burstTicks) return
    this.#unitsPerTick *= 2
    this.#lateTicks = 0
  }
}
