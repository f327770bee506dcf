/** A small registry of counters, gauges and histograms in Prometheus' text format. */
export type Labels = Readonly<Record<string, string>>

export type CounterCell = { add(amount?: number): void }
export type HistogramCell = { observe(value: number): void }

export type Counter = {
  add(amount?: number, labels?: Labels): void
  /** One series, looked up once: for counters updated with every request. */
  of(labels: Labels): CounterCell
  /** The same for every value of one label; `rest` are the others. */
  by(name: string, rest?: Labels): (value: string) => CounterCell
}
export type Gauge = {
  set(value: number, labels?: Labels): void
  add(amount: number, labels?: Labels): void
}
export type Histogram = {
  observe(value: number, labels?: Labels): void
  of(labels: Labels): HistogramCell
}

export type Metrics = {
  counter(name: string, help: string): Counter
  gauge(name: string, help: string): Gauge
  /** A gauge that is read on every scrape. */
  gaugeOf(name: string, help: string, read: () => number): void
  /** A gauge with several series, all read on every scrape. */
  gaugesOf(name: string, help: string, read: () => readonly (readonly [Labels, number])[]): void
  histogram(name: string, help: string, buckets: readonly number[]): Histogram
  /** All metrics, content type `metricsContentType`. */
  format(): string
}

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8'

/** Seconds, from a loopback answer to a long generation. */
export const durationBuckets = [
  0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
] as const

// A label chosen by clients must not grow the registry without bound.
const seriesLimit = 500

type Family = {
  readonly name: string
  readonly help: string
  readonly kind: string
  lines(): string[]
}

export function createMetrics(): Metrics {
  const families: Family[] = []

  function numbers(name: string, help: string, kind: string): Series<NumberCell> {
    const series = new Series(() => new NumberCell())
    const lines = () => series.map((labels, cell) => [`${name}${labels} ${cell.value}`])
    families.push({ name, help, kind, lines })
    return series
  }

  return {
    counter(name, help) {
      const series = numbers(name, help, 'counter')
      return {
        add: (amount, labels) => series.find(labels).add(amount),
        of: (labels) => series.find(labels),
        by(label, rest) {
          const known = new Map<string, NumberCell>()
          return (value) => {
            const cell = known.get(value) ?? series.find({ ...rest, [label]: value })
            if (known.size < seriesLimit) known.set(value, cell)
            return cell
          }
        },
      }
    },
    gauge(name, help) {
      const series = numbers(name, help, 'gauge')
      return {
        set(value, labels) {
          series.find(labels).value = value
        },
        add: (amount, labels) => series.find(labels).add(amount),
      }
    },
    gaugeOf(name, help, read) {
      families.push({ name, help, kind: 'gauge', lines: () => [`${name} ${read()}`] })
    },
    gaugesOf(name, help, read) {
      const lines = () =>
        read()
          .slice(0, seriesLimit)
          .map(([labels, value]) => `${name}${formatLabels(labels)} ${value}`)
      families.push({ name, help, kind: 'gauge', lines })
    },
    histogram(name, help, buckets) {
      const series = new Series(() => new Observed(buckets))
      const lines = () => series.map((labels, cell) => cell.lines(name, labels))
      families.push({ name, help, kind: 'histogram', lines })
      return {
        observe: (value, labels) => series.find(labels).observe(value),
        of: (labels) => series.find(labels),
      }
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

/** The series of one metric, keyed by their formatted labels. */
class Series<Cell> {
  readonly #cells = new Map<string, Cell>()
  readonly #create: () => Cell

  constructor(create: () => Cell) {
    this.#create = create
  }

  find(labels: Labels | undefined): Cell {
    const key = labels === undefined ? '' : this.#bounded(labels)
    const known = this.#cells.get(key)
    if (known !== undefined) return known
    const cell = this.#create()
    this.#cells.set(key, cell)
    return cell
  }

  map(format: (labels: string, cell: Cell) => string[]): string[] {
    return [...this.#cells].flatMap(([labels, cell]) => format(labels, cell))
  }

  #bounded(labels: Labels): string {
    const key = formatLabels(labels)
    if (this.#cells.size < seriesLimit || this.#cells.has(key)) return key
    return formatLabels(Object.fromEntries(Object.keys(labels).map((name) => [name, 'other'])))
  }
}

class NumberCell implements CounterCell {
  value = 0

  add(amount = 1): void {
    this.value += amount
  }
}

class Observed implements HistogramCell {
  readonly #buckets: readonly number[]
  readonly #counts: number[]
  #sum = 0
  #count = 0

  constructor(buckets: readonly number[]) {
    this.#buckets = buckets
    this.#counts = buckets.map(() => 0)
  }

  observe(value: number): void {
    this.#sum += value
    this.#count++
    for (let index = 0; index < this.#buckets.length; index++) {
      if (value > (this.#buckets[index] ?? 0)) continue
      this.#counts[index] = (this.#counts[index] ?? 0) + 1
      return
    }
  }

  lines(name: string, labels: string): string[] {
    let below = 0
    const bucketLines = this.#buckets.map((bound, index) => {
      below += this.#counts[index] ?? 0
      return `${name}_bucket${withBound(labels, String(bound))} ${below}`
    })
    return [
      ...bucketLines,
      `${name}_bucket${withBound(labels, '+Inf')} ${this.#count}`,
      `${name}_sum${labels} ${this.#sum}`,
      `${name}_count${labels} ${this.#count}`,
    ]
  }
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
