/** Padded lengths that reveal little: many contents share one. */

/**
 * How strongly message lengths and timing are padded; a stronger shape reveals less to an observer.
 */
export type TrafficShape = 'off' | 'default' | 'strict'

/**
 * Padmé: lengths that leak O(log log n) bits at a cost of at most 12% more bytes (PURBs, section
 * 4).
 */
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
 * The length to which a request's plaintext is padded. A request contains the conversation so far,
 * so finer steps would reveal the length of the last answer. Beyond the last step, lengths are
 * multiples of it: a long conversation takes many turns to reach the next one, and a long prompt
 * costs little more.
 */
export function paddedRequestLength(length: number, shape: TrafficShape): number {
  if (shape === 'off') return padmeLength(Math.max(length, leastUnshaped))
  const { least, growth, most } = steps[shape]
  for (let step: number = least; step <= most; step *= growth) if (length <= step) return step
  return Math.ceil(length / most) * most
}
