/** Everything that a soak run sees over time. */
import type { Fleet } from '../faults/fleet/fleet.ts'
import type { Done } from '../faults/load/load.ts'
import { type Sample, sampleProcess, sampleServer } from './sampler.ts'

/** One value for every sample or minute, by time in minutes since the start. */
export type Series = { readonly minutes: number[]; readonly values: number[] }

export type SoakSeries = {
  /** By process, then `rssMib`, `privateMib`, `handles`. */
  readonly processes: { [name: string]: { [what: string]: Series } }
  /** Milliseconds, for every minute: of the first byte of streams and of whole embeddings. */
  readonly latency: { [what: string]: Series }
  readonly perMinute: Series
}

export const loadGenerator = 'load generator'

export class Record {
  readonly #fleet: Fleet
  readonly #series: SoakSeries = { processes: {}, latency: {}, perMinute: newSeries() }
  #startedMs = 0
  #minute = 0
  #first: number[] = []
  #whole: number[] = []
  #count = 0

  constructor(fleet: Fleet) {
    this.#fleet = fleet
  }

  begin(): void {
    this.#startedMs = performance.now()
    this.#minute = 0
    this.#first = []
    this.#whole = []
    this.#count = 0
  }

  done({ kind, verdict, firstMs, elapsedMs, atMs }: Done): void {
    if (this.#startedMs === 0) return
    const minute = Math.floor((atMs - this.#startedMs) / 60_000)
    if (minute !== this.#minute) this.#closeMinute(minute)
    this.#count++
    if (verdict.kind !== 'right') return
    if (kind === 'chat, streamed') this.#first.push(firstMs)
    if (kind === 'embeddings') this.#whole.push(elapsedMs)
  }

  sample(): void {
    const { fleet, minutes } = { fleet: this.#fleet, minutes: this.#minutes() }
    const samples: (Sample | undefined)[] = [
      ...fleet.parts.map((part) => sampleProcess(part.name, part.pid)),
      sampleServer('postgresql', new URL(fleet.postgres.url).port),
      sampleProcess(loadGenerator, process.pid),
    ]
    for (const sample of samples) {
      if (sample === undefined) continue
      const { name, ...values } = sample
      for (const [what, value] of Object.entries(values)) {
        this.#series.processes[name] ??= {}
        add(this.#series.processes[name], what, minutes, value)
      }
    }
  }

  lastMinute(): string {
    const told = Object.entries(this.#series.processes).map(([name, series]) => {
      const last = (what: string) => series[what]?.values.at(-1) ?? 0
      return `${name} ${last('rssMib').toFixed(0)} MiB/${last('handles')}`
    })
    const p99 = this.#series.latency['first byte p99']?.values.at(-1) ?? 0
    return `${this.#minutes().toFixed(1)} min: first byte p99 ${p99.toFixed(0)} ms; ${told.join(', ')}`
  }

  /** Means of every minute, which is what is kept. */
  series(): SoakSeries {
    const { latency, perMinute } = this.#series
    const processes: SoakSeries['processes'] = {}
    for (const [name, all] of Object.entries(this.#series.processes)) {
      processes[name] = Object.fromEntries(
        Object.entries(all).map(([what, series]) => [what, minuteMeans(series)]),
      )
    }
    return { processes, latency, perMinute }
  }

  #minutes(): number {
    return round((performance.now() - this.#startedMs) / 60_000)
  }

  #closeMinute(next: number): void {
    const at = this.#minute
    for (const [what, times] of [
      ['first byte', this.#first],
      ['embedding', this.#whole],
    ] as const) {
      const sorted = times.toSorted((a, b) => a - b)
      for (const [name, share] of [
        ['p50', 0.5],
        ['p95', 0.95],
        ['p99', 0.99],
      ] as const) {
        const value = sorted[Math.floor(sorted.length * share)]
        if (value === undefined) continue
        add(this.#series.latency, `${what} ${name}`, at, value)
      }
    }
    push(this.#series.perMinute, at, this.#count)
    this.#first = []
    this.#whole = []
    this.#count = 0
    this.#minute = next
  }
}

const newSeries = (): Series => ({ minutes: [], values: [] })
const round = (value: number) => Math.round(value * 100) / 100

function minuteMeans({ minutes, values }: Series): Series {
  const means = newSeries()
  for (const minute of new Set(minutes.map(Math.floor))) {
    const within = values.filter((_, index) => Math.floor(minutes[index] ?? 0) === minute)
    push(means, minute, within.reduce((sum, value) => sum + value, 0) / within.length)
  }
  return means
}

function add(all: { [what: string]: Series }, what: string, minutes: number, value: number): void {
  all[what] ??= newSeries()
  push(all[what], minutes, value)
}

function push(series: Series, minutes: number, value: number): void {
  series.minutes.push(minutes)
  series.values.push(round(value))
}
