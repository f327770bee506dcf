/** Formats the results of a soak run: slopes with confidence, and whether anything grows. */
import { loadGenerator, type Series, type SoakSeries } from './record.ts'
import { type Slope, slopeOf } from './slope.ts'

export type SoakReport = SoakSeries & {
  readonly startedAt: string
  readonly minutes: number
  readonly capacityPerSecond: number
  readonly share: number
  readonly requests: number
  readonly right: number
  readonly errors: { readonly [what: string]: number }
  /** Requests that were not made because too many were waiting. */
  readonly shed: number
  readonly keys: number
  readonly violations: readonly string[]
  /** What a reader should know about the run. */
  readonly note?: string
}

export type SlopeRow = {
  readonly subject: string
  readonly what: string
  readonly unit: string
  readonly slope: Slope
}

/** Caches fill and the compiler warms up at first: this share of the run is not counted. */
const warmUp = 0.25

export function slopesOf(report: SoakReport): SlopeRow[] {
  const rows: SlopeRow[] = []
  for (const [subject, series] of Object.entries(report.processes)) {
    for (const [what, values] of Object.entries(series)) {
      const [name, unit] = names[what] ?? [what, '']
      rows.push({ subject, what: name, unit, slope: slope(values, report.minutes) })
    }
  }
  for (const [what, values] of Object.entries(report.latency)) {
    rows.push({ subject: 'latency', what, unit: 'ms', slope: slope(values, report.minutes) })
  }
  return rows
}

const names: Readonly<Record<string, readonly [string, string]>> = {
  rssMib: ['memory', 'MiB'],
  privateMib: ['private memory', 'MiB'],
  handles: ['open handles', ''],
}

/** Of the means of every minute. */
function slope({ minutes, values }: Series, length: number): Slope {
  const sums = new Map<number, { sum: number; count: number }>()
  for (const [index, minute] of minutes.entries()) {
    if (minute < length * warmUp) continue
    const whole = Math.floor(minute)
    const at = sums.get(whole) ?? { sum: 0, count: 0 }
    sums.set(whole, { sum: at.sum + (values[index] ?? 0), count: at.count + 1 })
  }
  return slopeOf([...sums].map(([minute, { sum, count }]) => [minute / 60, sum / count] as const))
}

/** What grew of the system; the load generator is measured, too, and keeps what it has to check. */
export function grownIn(rows: readonly SlopeRow[]): string[] {
  return rows
    .filter(({ subject, slope }) => slope.verdict === 'growth' && subject !== loadGenerator)
    .map(({ subject, what }) => `${subject}, ${what}`)
}

export function formatSoak(report: SoakReport): { text: string; grew: readonly string[] } {
  const rows = slopesOf(report)
  const grew = grownIn(rows)
  const errors = Object.entries(report.errors).map(([what, count]) => `${count} × ${what}`)
  const text = [
    formatSlopes(rows),
    '',
    `${report.minutes} minutes at ${Math.round(report.share * 100)}% of ${report.capacityPerSecond} ` +
      `requests/s: ${report.requests} requests, ${errors.join(', ') || 'no errors'}, ${report.keys} keys, ` +
      `${report.violations.length} violations`,
    grew.length === 0 ? 'no growth found' : `growth: ${grew.join('; ')}`,
    ...report.violations.slice(0, 20),
  ].join('\n')
  return { text, grew }
}

export function formatSlopes(rows: readonly SlopeRow[]): string {
  return [
    '| | | mean | slope per hour | 95% interval | |',
    '|---|---|---|---|---|---|',
    ...rows.map(({ subject, what, unit, slope: { mean, perHour, plusMinus, verdict } }) => {
      const value = (number: number) => `${number.toFixed(1)}${unit === '' ? '' : ` ${unit}`}`
      return `| ${subject} | ${what} | ${value(mean)} | ${value(perHour)} | ± ${value(plusMinus)} | ${verdict} |`
    }),
  ].join('\n')
}
