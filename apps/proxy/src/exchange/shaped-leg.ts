/** Traffic shaping towards clients that only speak HTTPS, for a hosted proxy. */
import { fromFinishReason, type Held, lastEvent } from '@privatemode/protocol/api'
import type { TrafficShape } from '../settings.ts'

/**
 * A plain client cannot be notified that an answer is complete while padding still arrives: most
 * close their connection at the last event. So that event waits for the end of the worker's padding,
 * and so do answers that are not streamed, which are a single piece to such a client.
 */
export type ShapedLeg = {
  /** What else in a stream is held back with the last event. */
  readonly held: Held
  /** The first bytes of a stream are sent this long after the request; 0: with its first frame. */
  readonly firstByteAfterMs: number
  /**
   * A stream begins this long after the request even if the worker does not know its status yet: silence would tell
   * when the first piece was ready, which for a tool call in one piece is its length. An error that comes later is an
   * event of the stream.
   */
  readonly beginAfterMs: number
  /** Lengths for the last events of a stream, and for answers that are not streamed. */
  readonly leastTailBytes: number
  readonly leastWholeBytes: number
  readonly wholeGrowth: number
}

/** `undefined`: answers are sent unchanged. */
export function shapedLeg(shape: TrafficShape): ShapedLeg | undefined {
  switch (shape) {
    case 'off':
      return undefined
    case 'default':
      return {
        held: lastEvent,
        firstByteAfterMs: 0,
        // Longer than engines take to refuse a request, which keeps its status.
        beginAfterMs: 500,
        leastTailBytes: 16 * 1024,
        // Most answers of 4,000 tokens.
        leastWholeBytes: 32 * 1024,
        wholeGrowth: 4,
      }
    case 'strict':
      return {
        held: fromFinishReason,
        // Longer than it takes to process most prompts, which hides whether one was cached.
        firstByteAfterMs: 4_000,
        beginAfterMs: 4_000,
        leastTailBytes: 64 * 1024,
        leastWholeBytes: 256 * 1024,
        wholeGrowth: 4,
      }
  }
}

/** The first of `least`, `least × growth`, … that is at least `length`. */
export function classOf(length: number, least: number, growth: number): number {
  let size = least
  while (size < length) size *= growth
  return size
}
