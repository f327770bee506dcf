/** How an answer is cut into frames, so that lengths and times on the wire tell little. */
import type { TrafficShape } from '@privatemode/protocol/envelope'

/** Frames of one size, sent on a clock instead of when a token is ready. */
export type Shape = {
  readonly tickMs: number
  /** Plaintext bytes of every frame. */
  readonly frameBytes: number
  /** Send a frame on every tick, also when there is nothing to say. */
  readonly cover: boolean
  /** The stream's length is rounded up to a multiple of this many frames. */
  readonly lengthStep: number
}

/** `undefined`: every piece of the answer is one frame, at once. */
export function streamShape(shape: TrafficShape): Shape | undefined {
  switch (shape) {
    case 'off':
      return undefined
    case 'default':
      return { tickMs: 25, frameBytes: 1024, cover: false, lengthStep: 1 }
    case 'strict':
      return { tickMs: 50, frameBytes: 2048, cover: true, lengthStep: 100 }
  }
}
