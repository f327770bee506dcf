/** Padmé: lengths that leak O(log log n) bits for at most 12% more bytes (PURBs, section 4). */

export function padmeLength(length: number): number {
  if (length < 2) return length
  const exponent = Math.floor(Math.log2(length))
  const significant = Math.floor(Math.log2(exponent)) + 1
  const unit = 2 ** Math.max(0, exponent - significant)
  return Math.ceil(length / unit) * unit
}
