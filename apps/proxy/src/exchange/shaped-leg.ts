/** How answers look on the way to a client that knows HTTPS only, where the proxy is hosted. */
import type { TrafficShape } from '../settings.ts'

/**
 * A plain client cannot be told that an answer is whole while padding still comes: it has to wait for
 * the end. By default it waits for a shorter padding than the one that follows between proxy and worker.
 */
export type ShapedLeg = {
  /** A stream whose body is whole goes on to this many bytes, or this many times a power of two. */
  readonly leastStreamBytes: number
  /** The end of a stream is not told before the end of the padding that comes from the worker. */
  readonly waitsForEnd: boolean
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
        leastStreamBytes: 80 * 1024,
        waitsForEnd: false,
        firstByteAfterMs: 0,
        leastTailBytes: 16 * 1024,
        leastWholeBytes: 8 * 1024,
        wholeGrowth: 4,
      }
    case 'strict':
      return {
        leastStreamBytes: 0,
        waitsForEnd: true,
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
