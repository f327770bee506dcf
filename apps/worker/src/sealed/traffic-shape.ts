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
  /** No stream has fewer units, as long as the pace of the engine is not known. */
  readonly leastUnits: number
  /** From then on, no stream is shorter than so many tokens take; see `fitToPace`. 0: nothing depends on the pace. */
  readonly leastTokens: number
  /** A longer stream has as many units as the least times a power of this. */
  readonly growth: number
  /** At the beginning; doubled where the engine turns out to be faster. */
  readonly unitsPerTick: number
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
  /**
   * Answers that no text is generated for (embeddings, counts of tokens) are released this long after the
   * request, or this times a power of `growth`. 0: when they are ready.
   */
  readonly otherAfterMs: number
  /**
   * A text that takes longer than this to generate goes out on the clock of streams, padding first: when it
   * was ready does not show. What is ready sooner is one frame, at once, unless it is an error.
   */
  readonly streamAfterMs: number
}

const shapes: { readonly [name in TrafficShape]: Shape } = {
  off: { stream: undefined, whole: undefined },
  default: {
    stream: {
      // Some 100 tokens a second.
      ...{ tickMs: 50, unitBytes: 1280, unitsPerTick: 1 },
      // 16 s, which is what the tokens take at 50 a second.
      ...{ leastUnits: 320, leastTokens: 750, growth: 2 },
      ...{ marksWhole: true, startsAfterMs: 250, patienceTicks: 24, burstTicks: 20 },
    },
    whole: {
      ...{ leastBytes: 8 * 1024, growth: 4, otherAfterMs: 0, streamAfterMs: 250 },
    },
  },
  // What an application does once it has its answer can be seen, too: it gets the end late.
  strict: {
    stream: {
      // Some 160 tokens a second.
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

/** What a token takes in a stream of events, about. */
const tokenBytes = 256
/** The most that a frame and a tick hold. */
export const maxUnits = 32
/** Not shorter than half of what it is with an unknown pace, and not longer than eight times that. */
const [leastShare, mostShare] = [1 / 2, 8]

/**
 * The shape for an engine whose pace is known: lengths are meant in tokens, and one that is right for a fast
 * engine would tell how long the answers of a slow one are. The pace is that of answers before this one,
 * and lengths are rounded up to four for each power of two: they tell hardly anything about those either.
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

/** Up to 4, 5, 6 or 7 times a power of two. */
function roundUp(value: number): number {
  const step = 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, value))) - 2)
  return Math.ceil(value / step) * step
}

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
