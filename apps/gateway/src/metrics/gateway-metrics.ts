/** The gateway's Prometheus metrics: sizes, times and codes, never content. */
import { type Counter, createMetrics, durationBuckets } from '@privatemode/service'

export type GatewayMetrics = {
  /** Requests refused, by status and code. */
  readonly refusals: Counter
  readonly usageRecords: Counter
  readonly droppedSpans: Counter
  relayed(model: string, outcome: string, facts: RelayedFacts): void
  /** Registers a gauge, which is read on every scrape. */
  gauge(name: keyof typeof gatewayGauges, read: () => number): void
  format(): string
}

export type RelayedFacts = {
  readonly bytesOut: number
  readonly attempts: number
  readonly firstByteMs: number
  readonly elapsedMs: number
}

const prefix = 'privatemode_gateway_'

export const gatewayGauges = {
  running: 'requests in progress',
  connections: 'client connections',
  worker_connections: 'connections to workers',
  workers: 'live workers',
  awaited_usage: 'relayed requests not yet reported',
} as const

export function createGatewayMetrics(): GatewayMetrics {
  const metrics = createMetrics()
  const counter = (name: string, help: string) => metrics.counter(prefix + name, help)
  const seconds = (name: string, help: string) =>
    metrics.histogram(prefix + name, help, durationBuckets)
  const relayed = counter('relayed_total', 'requests relayed, by model and outcome')
  const relayedBytes = counter('relayed_bytes_total', 'bytes relayed to clients')
  const failovers = counter('failovers_total', 'requests that needed another worker')
  const firstByte = seconds('first_byte_seconds', 'time until a worker began its answer')
  const whole = seconds('request_seconds', 'time until a relayed answer ended')
  // Counted per request here, and by label only on a scrape.
  const counts = new Map<string, Map<string, number>>()
  return {
    refusals: counter('refusals_total', 'requests refused, by status and code'),
    usageRecords: counter('usage_records_total', 'usage records from workers, by verdict'),
    droppedSpans: counter('trace_spans_dropped_total', 'spans that no collector accepted'),
    relayed(model, outcome, facts) {
      let outcomes = counts.get(model)
      if (outcomes === undefined) {
        outcomes = new Map()
        counts.set(model, outcomes)
      }
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      relayedBytes.add(facts.bytesOut)
      firstByte.observe(facts.firstByteMs / 1000)
      whole.observe(facts.elapsedMs / 1000)
      if (facts.attempts > 1) failovers.add(1)
    },
    gauge: (name, read) => metrics.gaugeOf(prefix + name, gatewayGauges[name], read),
    format() {
      for (const [model, outcomes] of counts) {
        for (const [outcome, count] of outcomes) relayed.add(count, { model, outcome })
      }
      counts.clear()
      return metrics.format()
    },
  }
}
