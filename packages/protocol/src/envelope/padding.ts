/** Lengths that tell little: many contents share one. */

/** How lengths and times of messages are levelled out; a stronger shape tells a watcher less. */
export type TrafficShape = 'off' | 'default' | 'strict'

/** Padmé: lengths that leak O(log log n) bits for at most 12% more bytes (PURBs, section 4). */
export function padmeLength(length: number): number {
  if (length < 2) return length
  const exponent = Math.floor(Math.log2(length))
  const significant = Math.floor(Math.log2(exponent)) + 1
  const unit = 2 ** Math.max(0, exponent - significant)
  return Math.ceil(length / unit) * unit
}

const steps = {
  default: { least: 4 * 1024, growth: 4, most: 256 * 1024 },
  strict: { least: 64 * 1024, growth: 4, most: 1024 * 1024 },
} as const
const leastUnshaped = 1024

/**
 * How long the plaintext of a request is made. A request holds the conversation so far, so finer
 * steps would tell how long the last answer was. Beyond the last step lengths are multiples of it:
 * a long conversation takes many turns from one to the next, and a long prompt costs little more.
 */
export function paddedRequestLength(length: number, shape: TrafficShape): number {
  if (shape === 'off') return padmeLength(Math.max(length, leastUnshaped))
  const { least, growth, most } = steps[shape]
  for (let step: number = least; step <= most; step *= growth) if (length <= step) return step
  return Math.ceil(length / most) * most
}
