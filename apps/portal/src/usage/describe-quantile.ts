/** A duration read from counts, in words. */
import { formatDuration } from '../words/format-time.ts'
import { longestBoundMs } from './usage-series.ts'

export function describeQuantile(ms: number | null): string {
  if (ms === null) return '–'
  return ms >= longestBoundMs ? `over ${longestBoundMs / 1000} s` : `≈ ${formatDuration(ms)}`
}
