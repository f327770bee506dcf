/** A small registry of counters, gauges and histograms in Prometheus' text format. */
export type Labels = Readonly<Record<string, string>>

export type Counter = { add(amount?: number, labels?: Labels): void }
export type Gauge = {
  set(value: number, labels?: Labels): void
  add(amount: number, labels?: Labels): void
}
export type Histogram = { observe(value: number, labels?: Labels): void }

export type Metrics = {
  counter(name: string, help: string): Counter
  gauge(name: string, help: string): Gauge
  /** A gauge that is read when the metrics are. */
  gaugeOf(name: string, help: string, read: () => number): void
  histogram(name: string, help: string, buckets: readonly number[]): Histogram
  /** All metrics, content type `metricsContentType`. */
  format(): string
}

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8'

/** Seconds, from a loopback answer to a long generation. */
export const durationBuckets = [
  0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
] as const

// A label that came from a client must not grow the registry without end.
const seriesLimit = 500

type Series<Value> = Map<string, Value>
type Family = { name: string; help: string; kind: string; lines(): string[] }

export function createMetrics(): Metrics {
  const families: Family[] = []

  function numbers(name: string, help: string, kind: string): Series<number> {
    const series: Series<number> = new Map()
    families.push({
      name,
      help,
      kind,
      lines: () => [...series].map(([labels, value]) => `${name}${labels} ${value}`),
    })
    return series
  }

  return {
    counter(name, help) {
      const series = numbers(name, help, 'counter')
      return {
        add(amount = 1, labels) {
          const key = keyOf(series, labels)
          series.set(key, (series.get(key) ?? 0) + amount)
        },
      }
    },
    gauge(name, help) {
      const series = numbers(name, help, 'gauge')
      return {
        set: (value, labels) => void series.set(keyOf(series, labels), value),
        add(amount, labels) {
          const key = keyOf(series, labels)
          series.set(key, (series.get(key) ?? 0) + amount)
        },
      }
    },
    gaugeOf(name, help, read) {
      families.push({ name, help, kind: 'gauge', lines: () => [`${name} ${read()}`] })
    },
    histogram(name, help, buckets) {
      const { family, histogram } = createHistogram(name, help, buckets)
      families.push(family)
      return histogram
    },
    format() {
      const lines = families.flatMap((family) => [
        `# HELP ${family.name} ${family.help}`,
        `# TYPE ${family.name} ${family.kind}`,
        ...family.lines(),
      ])
      return `${lines.join('\n')}\n`
    },
  }
}

type Observed = { counts: number[]; sum: number; count: number }

function createHistogram(
  name: string,
  help: string,
  buckets: readonly number[],
): { family: Family; histogram: Histogram } {
  const series: Series<Observed> = new Map()

  function lines(): string[] {
    return [...series].flatMap(([labels, seen]) => {
      let below = 0
      const bucketLines = buckets.map((bound, index) => {
        below += seen.counts[index] ?? 0
        return `${name}_bucket${withBound(labels, String(bound))} ${below}`
      })
      return [
        ...bucketLines,
        `${name}_bucket${withBound(labels, '+Inf')} ${seen.count}`,
        `${name}_sum${labels} ${seen.sum}`,
        `${name}_count${labels} ${seen.count}`,
      ]
    })
  }

  return {
    family: { name, help, kind: 'histogram', lines },
    histogram: {
      observe(value, labels) {
        const key = keyOf(series, labels)
        const seen = series.get(key) ?? { counts: buckets.map(() => 0), sum: 0, count: 0 }
        const index = buckets.findIndex((bound) => value <= bound)
        if (index >= 0) seen.counts[index] = (seen.counts[index] ?? 0) + 1
        seen.sum += value
        seen.count += 1
        series.set(key, seen)
      },
    },
  }
}

function keyOf(series: Series<unknown>, labels: Labels | undefined): string {
  if (labels === undefined) return ''
  const key = formatLabels(labels)
  if (series.size < seriesLimit || series.has(key)) return key
  return formatLabels(Object.fromEntries(Object.keys(labels).map((name) => [name, 'other'])))
}

function formatLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function withBound(labels: string, bound: string): string {
  return labels === '' ? `{le="${bound}"}` : `${labels.slice(0, -1)},le="${bound}"}`
}
