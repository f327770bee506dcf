/** What the gateway counts for Prometheus: sizes, times and codes, never content. */
import { type Counter, createMetrics, durationBuckets, type Histogram } from '@privatemode/service'

export type GatewayMetrics = {
  /** Answers by status and error code. */
  readonly answers: Counter
  /** Relayed requests by model and how they ended. */
  readonly relayed: Counter
  readonly relayedBytes: Counter
  readonly firstByteSeconds: Histogram
  readonly durationSeconds: Histogram
  readonly retries: Counter
  readonly usageRecords: Counter
  watch(name: string, help: string, read: () => number): void
  format(): string
}

export function createGatewayMetrics(): GatewayMetrics {
  const metrics = createMetrics()
  const prefix = 'privatemode_gateway_'
  return {
    answers: metrics.counter(`${prefix}refusals_total`, 'requests refused, by status and code'),
    relayed: metrics.counter(`${prefix}relayed_total`, 'requests relayed, by model and outcome'),
    relayedBytes: metrics.counter(`${prefix}relayed_bytes_total`, 'bytes relayed to clients'),
    firstByteSeconds: metrics.histogram(
      `${prefix}first_byte_seconds`,
      'time until a worker began its answer',
      durationBuckets,
    ),
    durationSeconds: metrics.histogram(
      `${prefix}request_seconds`,
      'time until a relayed answer ended',
      durationBuckets,
    ),
    retries: metrics.counter(`${prefix}failovers_total`, 'requests that needed another worker'),
    usageRecords: metrics.counter(
      `${prefix}usage_records_total`,
      'usage records from workers, by verdict',
    ),
    watch: (name, help, read) => metrics.gaugeOf(prefix + name, help, read),
    format: () => metrics.format(),
  }
}
