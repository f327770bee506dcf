/** How a streamed answer is cut into frames, so that lengths and times on the wire tell little. */
import type { TrafficShape } from '@privatemode/protocol/envelope'

/** Frames of one size on a clock, whether there is data or not, until a length that many share. */
export type Shape = {
  readonly tickMs: number
  /** Plaintext bytes of every frame. */
  readonly frameBytes: number
  /** No stream has fewer frames. */
  readonly leastFrames: number
  /** A longer stream has as many frames as the least times a power of this. */
  readonly growth: number
  /** Tell the client at once when the body is whole, so that only the watcher waits for the end. */
  readonly marksWhole: boolean
}

/** `undefined`: every piece of the answer is one frame, at once. */
export function streamShape(shape: TrafficShape): Shape | undefined {
  switch (shape) {
    case 'off':
      return undefined
    case 'default':
      return { tickMs: 25, frameBytes: 512, leastFrames: 128, growth: 2, marksWhole: true }
    case 'strict':
      // What an application does once it has its answer can be seen, too: it gets the end late.
      return { tickMs: 50, frameBytes: 2048, leastFrames: 400, growth: 4, marksWhole: false }
  }
}

/** How many frames a stream has that needs this many. */
export function shapedFrames(frames: number, shape: Shape): number {
  let length = shape.leastFrames
  while (length < frames) length *= shape.growth
  return length
}
