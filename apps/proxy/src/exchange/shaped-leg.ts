/** How answers look on the way to a client that knows HTTPS only, where the proxy is hosted. */
import type { Held } from '@privatemode/protocol/api'
import type { TrafficShape } from '../settings.ts'

/**
 * A plain client cannot be told that an answer is whole while padding still comes: most close their
 * connection at the last event. So that waits for the end of the padding that comes from the worker, and so
 * do answers that are not streamed, which are one piece to such a client.
 */
export type ShapedLeg = {
  /** What else of a stream waits with the last event. */
  readonly held: Held
  /** The first bytes of a stream come so long after the request, or this times a power of two; 0: at once. */
  readonly firstByteAfterMs: number
  /** The last events of a stream, and answers that are not streamed, have these lengths. */
  readonly leastTailBytes: number
  readonly leastWholeBytes: number
  readonly wholeGrowth: number
}

/** `undefined`: answers go out as they are. */
export function shapedLeg(shape: TrafficShape): ShapedLeg | undefined {
  switch (shape) {
    case 'off':
      return undefined
    case 'default':
      return {
        held: 'last event',
        firstByteAfterMs: 0,
        leastTailBytes: 16 * 1024,
        // Most answers of 4,000 tokens.
        leastWholeBytes: 32 * 1024,
        wholeGrowth: 4,
      }
    case 'strict':
      return {
        held: 'from finish reason',
        // Longer than most prompts take to be read: whether one was cached does not show.
        firstByteAfterMs: 4_000,
        leastTailBytes: 64 * 1024,
        leastWholeBytes: 256 * 1024,
        wholeGrowth: 4,
      }
  }
}

/** The first of `least`, `least × growth`, … that is not below a length. */
export function classOf(length: number, least: number, growth: number): number {
  let size = least
  while (size < length) size *= growth
  return size
}
