/** How answers are split, so that lengths and timing on the wire reveal little. */
import type { TrafficShape } from '@privatemode/protocol/envelope'

/** A named shape: how streams and unstreamed answers look. */
export type Shape = {
  /** `undefined`: every piece of the answer is one frame, at once. */
  readonly stream: StreamShape | undefined
  /** `undefined`: one frame of a Padmé length, when it is ready. */
  readonly whole: WholeShape | undefined
}

/** Units of one size sent on a clock, with or without data, up to a length that many answers share. */
export type StreamShape = {
  readonly tickMs: number
  /** Plaintext bytes of a unit; a frame holds the units of one tick. */
  readonly unitBytes: number
  /** Minimum number of units of a stream while the engine's pace is unknown. */
  readonly leastUnits: number
  /** Once the pace is known, streams last at least as long as this many tokens; see `fitToPace`. 0: ignore it. */
  readonly leastTokens: number
  /** A longer stream has as many units as the least times a power of this. */
  readonly growth: number
  /** Initial value; doubled if the engine turns out to be faster. */
  readonly unitsPerTick: number
  /** Notify the client as soon as the body is complete, so that only an observer waits for the end. */
  readonly marksWhole: boolean
  /**
   * Frames start this long after the request even if the engine is still silent, which hides a
   * longer time to the first token. An earlier answer starts immediately.
   */
  readonly startsAfterMs: number
  /**
   * The engine counts as faster than the clock if more than a tick's worth of data waits for this
   * many ticks,
   */
  readonly patienceTicks: number
  /** or if more data waits than this many ticks carry: readers should not wait for that. */
  readonly burstTicks: number
}

/** Sets of possible lengths and, if timing is hidden, times; the first sufficient one is used. */
export type WholeShape = {
  readonly leastBytes: number
  readonly growth: number
  /**
   * Answers without generated text (embeddings, token counts) are released this long after the
   * request, or this times a power of `growth`. 0: as soon as they are ready.
   */
  readonly otherAfterMs: number
  /**
   * A text that takes longer than this to generate is sent on the clock of streams, padding first:
   * when it was ready does not show. A text that is ready sooner is one frame, sent immediately,
   * unless it is an error.
   */
  readonly streamAfterMs: number
}

const shapes: { readonly [name in TrafficShape]: Shape } = {
  off: { stream: undefined, whole: undefined },
  default: {
    stream: {
      // About 100 tokens per second.
      ...{ tickMs: 50, unitBytes: 1280, unitsPerTick: 1 },
      // 16 s, which is what the tokens take at 50 per second.
      ...{ leastUnits: 320, leastTokens: 750, growth: 2 },
      ...{ marksWhole: true, startsAfterMs: 250, patienceTicks: 24, burstTicks: 20 },
    },
    whole: {
      ...{ leastBytes: 8 * 1024, growth: 4, otherAfterMs: 0, streamAfterMs: 250 },
    },
  },
  // An observer also sees what an application does once it has its answer, so its end comes late.
  strict: {
    stream: {
      // About 160 tokens per second.
      ...{ tickMs: 50, unitBytes: 2048, unitsPerTick: 1 },
      ...{ leastUnits: 1280, leastTokens: 3_000, growth: 4 },
      ...{ marksWhole: false, startsAfterMs: 0, patienceTicks: 48, burstTicks: 64 },
    },
    whole: {
      ...{ leastBytes: 256 * 1024, growth: 4, otherAfterMs: 1_000, streamAfterMs: 0 },
    },
  },
}

export const shapeOf = (name: TrafficShape): Shape => shapes[name]

/** Approximate size of a token in a stream of events. */
const tokenBytes = 256
/** The most units that a frame and a tick hold. */
export const maxUnits = 32
/** Bounds relative to the length for an unknown pace: at least half of it, at most eight times. */
const [leastShare, mostShare] = [1 / 2, 8]

/**
 * The shape for an engine whose pace is known: lengths are meant in tokens, and one that suits a
 * fast engine would reveal how long the answers of a slow one are. The pace is that of earlier
 * answers, and lengths are rounded up to four per power of two: they reveal hardly anything about
 * those answers either.
 */
export function fitToPace(shape: StreamShape, msPerToken: number | undefined): StreamShape {
  const { tickMs, unitBytes, leastTokens, leastUnits } = shape
  if (msPerToken === undefined || leastTokens === 0) return shape
  const busiest = (tickMs / Math.max(msPerToken, 1e-3)) * (tokenBytes / unitBytes)
  const unitsPerTick = Math.min(maxUnits, classOf(busiest, shape.unitsPerTick, 2))
  const ticks = roundUp((leastTokens * msPerToken) / tickMs)
  const fitted = Math.max(leastUnits * leastShare, ticks * unitsPerTick)
  return { ...shape, unitsPerTick, leastUnits: Math.min(leastUnits * mostShare, fitted) }
}

/** Rounds up to 4, 5, 6 or 7 times a power of two. */
function roundUp(value: number): number {
  const step = 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, value))) - 2)
  return Math.ceil(value / step) * step
}

/** The number of units of a stream that needs this many. */
export function shapedUnits(units: number, shape: StreamShape): number {
  return classOf(units, shape.leastUnits, shape.growth)
}

/** The first of `least`, `least × growth`, … that is at least `value`. */
export function classOf(value: number, least: number, growth: number): number {
  let step = least
  while (step < value) step *= growth
  return step
}
