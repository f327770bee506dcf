/** How answers are cut, so that lengths and times on the wire tell little. */
import type { TrafficShape } from '@privatemode/protocol/envelope'

/** Of one name: how streams look, and answers that are not streamed. */
export type Shape = {
  /** `undefined`: every piece of the answer is one frame, at once. */
  readonly stream: StreamShape | undefined
  /** `undefined`: one frame of a Padmé length, when it is ready. */
  readonly whole: WholeShape | undefined
}

/** Units of one size on a clock, whether there is data or not, until a length that many share. */
export type StreamShape = {
  readonly tickMs: number
  /** Plaintext bytes of a unit; a frame holds the units of one tick. */
  readonly unitBytes: number
  /** No stream has fewer units. */
  readonly leastUnits: number
  /** A longer stream has as many units as the least times a power of this. */
  readonly growth: number
  /** Tell the client at once when the body is whole, so that only the watcher waits for the end. */
  readonly marksWhole: boolean
  /**
   * Frames go out this long after the request, whether the engine has said something or not: a longer time
   * to the first token does not show. What comes sooner goes out at once.
   */
  readonly startsAfterMs: number
  /** The engine is faster than the clock if more than a tick carries waits for so many ticks, */
  readonly patienceTicks: number
  /** or if more waits than goes out in so many: nobody wants to wait for that. */
  readonly burstTicks: number
}

/** Lengths, and times if they are not to tell anything: the first of each that is enough. */
export type WholeShape = {
  readonly leastBytes: number
  readonly growth: number
  /** Released this long after the request, or this times a power of `growth`. 0: when it is ready. */
  readonly textAfterMs: number
  /** The same for answers that no text is generated for: embeddings, counts of tokens. */
  readonly otherAfterMs: number
  /**
   * A text that takes longer than this to generate goes out on the clock of streams, padding first: when it
   * was ready does not show, and its reader hardly waits. What is ready sooner is one frame, at once.
   */
  readonly streamAfterMs: number | undefined
}

const shapes: { readonly [name in TrafficShape]: Shape } = {
  off: { stream: undefined, whole: undefined },
  default: {
    stream: {
      // Some 100 tokens a second.
      ...{ tickMs: 50, unitBytes: 1280, leastUnits: 320, growth: 2 },
      ...{ marksWhole: true, startsAfterMs: 250, patienceTicks: 24, burstTicks: 20 },
    },
    whole: {
      ...{ leastBytes: 8 * 1024, growth: 4, textAfterMs: 0, otherAfterMs: 0 },
      streamAfterMs: 250,
    },
  },
  // What an application does once it has its answer can be seen, too: it gets the end late.
  strict: {
    stream: {
      // Some 160 tokens a second.
      ...{ tickMs: 50, unitBytes: 2048, leastUnits: 1280, growth: 4 },
      ...{ marksWhole: false, startsAfterMs: 0, patienceTicks: 48, burstTicks: 64 },
    },
    whole: {
      ...{ leastBytes: 256 * 1024, growth: 4, textAfterMs: 60_000, otherAfterMs: 1_000 },
      streamAfterMs: undefined,
    },
  },
}

export const shapeOf = (name: TrafficShape): Shape => shapes[name]

/** How many units a stream has that needs this many. */
export function shapedUnits(units: number, shape: StreamShape): number {
  return classOf(units, shape.leastUnits, shape.growth)
}

/** The first of `least`, `least × growth`, … that is not below a value. */
export function classOf(value: number, least: number, growth: number): number {
  let step = least
  while (step < value) step *= growth
  return step
}
