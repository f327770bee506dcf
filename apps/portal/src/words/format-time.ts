/** Formats times and numbers for people. */

/** `2030-01-31 14:05`, in the reader's own time zone. */
export function formatMoment(iso: string): string {
  const date = new Date(iso)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-')
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`
}

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

/** `3 hours ago`, `in 2 days`, `just now`. */
export function formatAgo(iso: string, now: Date): string {
  const seconds = (new Date(iso).getTime() - now.getTime()) / 1000
  for (const [unit, length] of units) {
    // A key created a moment ago for 90 days lasts 90 days; past units count only when complete.
    const exact = Math.abs(seconds) / length
    const count = seconds > 0 && exact >= 1 ? Math.round(exact) : Math.trunc(exact + 1e-3)
    if (count === 0) continue
    const words = `${count} ${unit}${count === 1 ? '' : 's'}`
    return seconds < 0 ? `${words} ago` : `in ${words}`
  }
  return seconds > 30 ? 'in a moment' : 'just now'
}

const plain = new Intl.NumberFormat('en-US')
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })

/** `12,345`. */
export const formatCount = (value: number): string => plain.format(value)

/** `12.3K`. */
export const formatShort = (value: number): string => short.format(value)

/** `250 ms`, `1.4 s`, `2.5 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 100_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  return `${(ms / 60_000).toFixed(1)} min`
}

/** One unit for a whole axis: `0.3 s`, `20 s`. */
export const formatSeconds = (ms: number): string => `${plain.format(ms / 1000)} s`

export const formatShare = (share: number): string => `${Math.round(share * 100)} %`
