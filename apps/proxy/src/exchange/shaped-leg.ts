/** How answers look on the way to a client that knows HTTPS only, where the proxy is hosted. */
import type { TrafficShape } from '../settings.ts'

/**
 * A plain client cannot be told that an answer is whole while padding still comes: it would close or ask
 * again. So the end of a stream waits for the end of the padding that comes from the worker.
 */
export type ShapedLeg = {
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
        firstByteAfterMs: 0,
        leastTailBytes: 16 * 1024,
        leastWholeBytes: 8 * 1024,
        wholeGrowth: 4,
      }
    case 'strict':
      return {
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
