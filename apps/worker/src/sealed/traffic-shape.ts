/** How a streamed answer is cut, so that lengths and times on the wire tell little. */
import type { TrafficShape } from '@privatemode/protocol/envelope'

/** Units of one size on a clock, whether there is data or not, until a length that many share. */
export type Shape = {
  readonly tickMs: number
  /** Plaintext bytes of a unit; a frame holds the units of one tick. */
  readonly unitBytes: number
  /** No stream has fewer units. */
  readonly leastUnits: number
  /** A longer stream has as many units as the least times a power of this. */
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
      return { tickMs: 25, unitBytes: 512, leastUnits: 128, growth: 2, marksWhole: true }
    case 'strict':
      // What an application does once it has its answer can be seen, too: it gets the end late.
      return { tickMs: 50, unitBytes: 2048, leastUnits: 400, growth: 4, marksWhole: false }
  }
}

/** How many units a stream has that needs this many. */
export function shapedUnits(units: number, shape: Shape): number {
  let length = shape.leastUnits
  while (length < units) length *= shape.growth
  return length
}
