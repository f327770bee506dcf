/** The proxy's metrics; labels are routes, statuses, outcomes and manifest models, never client input. */

import type { Verdict } from '@privatemode/sdk/canary'
import {
  type CounterCell,
  createMetrics,
  durationBuckets,
  type HistogramCell,
  type Metrics,
} from '@privatemode/service'

export type RequestOutcome = 'complete' | 'refused' | 'failed' | 'aborted'

export type ProxyMetrics = {
  readonly registry: Metrics
  requestDone(
    route: string,
    status: number,
    outcome: RequestOutcome,
    elapsedMs: number,
    firstByteMs: number | undefined,
  ): void
  bytes(received: number, sent: number): void
  /** Records the result of the latest prompt cache probe for a model. */
  cacheChecked(model: string, verdict: Verdict): void
}

const verdicts: readonly Verdict[] = ['isolates', 'shares', 'caches-nothing', 'cannot-tell']

export type Gauges = {
  readonly openRequests: () => number
  readonly verifiedWorkers: () => number
  readonly ready: () => boolean
  /** When the manifest log was last signed, in seconds since 1970; 0 if unknown. */
  readonly logSignedAt: () => number
  /** When requests start to fail unless log or manifest are renewed, in seconds since 1970; 0 for never. */
  readonly usableUntil: () => number
}

export function createProxyMetrics(gauges: Gauges): ProxyMetrics {
  const registry = createMetrics()
  const requests = registry.counter('privatemode_proxy_requests_total', 'Requests answered.')
  const seconds = registry.histogram(
    'privatemode_proxy_request_seconds',
    'Time from request to the end of its answer.',
    durationBuckets,
  )
  const firstByte = registry.histogram(
    'privatemode_proxy_first_byte_seconds',
    'Time from request to the first byte of its answer.',
    durationBuckets,
  )
  const received = registry.counter(
    'privatemode_proxy_received_bytes_total',
    'Bytes of request bodies.',
  )
  const sent = registry.counter('privatemode_proxy_sent_bytes_total', 'Bytes of answers.')
  registry.gaugeOf('privatemode_proxy_open_requests', 'Requests in flight.', gauges.openRequests)
  registry.gaugeOf(
    'privatemode_proxy_verified_workers',
    'Workers currently verified.',
    gauges.verifiedWorkers,
  )
  registry.gaugeOf('privatemode_proxy_ready', 'Whether the backend is verified.', () =>
    gauges.ready() ? 1 : 0,
  )
  registry.gaugeOf(
    'privatemode_proxy_log_signed_timestamp_seconds',
    'When the manifest log and its witnesses last signed, 0 if unknown.',
    gauges.logSignedAt,
  )
  registry.gaugeOf(
    'privatemode_proxy_manifest_usable_until_timestamp_seconds',
    'When requests start to fail unless the log is signed again or a new manifest is published, 0 for never.',
    gauges.usableUntil,
  )
  registry.gaugeOf('process_resident_memory_bytes', 'Resident memory size.', () =>
    process.memoryUsage.rss(),
  )

  const caches = registry.gauge(
    'privatemode_proxy_cache_verdict',
    'Prompt cache isolation: 1 for the verdict of the latest check, otherwise 0.',
  )
  const cachesChecked = registry.gauge(
    'privatemode_proxy_cache_checked_timestamp_seconds',
    'When prompt caches were last checked.',
  )

  const receivedBytes = received.of({})
  const sentBytes = sent.of({})
  // There are few routes, statuses and outcomes: series are looked up without building their labels again.
  const known = new Map<string, RequestCells>()

  function cellsOf(route: string, status: number, outcome: RequestOutcome): RequestCells {
    const key = `${route} ${status} ${outcome}`
    const cells = known.get(key)
    if (cells !== undefined) return cells
    const made = {
      count: requests.of({ route, status: String(status), outcome }),
      seconds: seconds.of({ route }),
      firstByte: firstByte.of({ route }),
    }
    known.set(key, made)
    return made
  }

  return {
    registry,
    requestDone(route, status, outcome, elapsedMs, firstByteMs) {
      const cells = cellsOf(route, status, outcome)
      cells.count.add()
      cells.seconds.observe(elapsedMs / 1000)
      if (firstByteMs !== undefined) cells.firstByte.observe(firstByteMs / 1000)
    },
    bytes(bytesReceived, bytesSent) {
      receivedBytes.add(bytesReceived)
      sentBytes.add(bytesSent)
    },
    cacheChecked(model, verdict) {
      for (const one of verdicts) caches.set(one === verdict ? 1 : 0, { model, verdict: one })
      cachesChecked.set(Math.floor(Date.now() / 1000), { model })
    },
  }
}

type RequestCells = {
  readonly count: CounterCell
  readonly seconds: HistogramCell
  readonly firstByte: HistogramCell
}
