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
  off: { least: 1024, growth: 1, most: 1024 },
  default: { least: 2048, growth: 2, most: 64 * 1024 },
  strict: { least: 16 * 1024, growth: 4, most: 1024 * 1024 },
} as const

/**
 * How long the plaintext of a request is made. A request holds the conversation so far, so finer
 * steps would tell how long the last answer was. Beyond the last step bytes are dear and lengths
 * differ for many reasons: Padmé is used there.
 */
export function paddedRequestLength(length: number, shape: TrafficShape): number {
  const { least, growth, most } = steps[shape]
  for (let step: number = least; step <= most; step *= growth) {
    if (length <= step) return step
    if (growth === 1) break
  }
  return padmeLength(length)
}
