import { expect, test } from 'bun:test'
import { createProxyMetrics } from '../proxy-metrics.ts'
import type { Readiness } from '../trust/readiness.ts'
import { joinReports, sumCounted } from './joint-report.ts'
import type { Report } from './questions.ts'

const ready: Readiness = {
  ready: true,
  reason: 'backend verified',
  manifest: 'm',
  verified_workers: 2,
  log_age_seconds: 10,
  usable_until: null,
}

/** A process that has answered this many requests, each in 20 ms. */
function report(requests: number, readiness: Readiness = ready, signedAt = 1_000): Report {
  const metrics = createProxyMetrics({
    openRequests: () => 3,
    verifiedWorkers: () => readiness.verified_workers,
    ready: () => readiness.ready,
    logSignedAt: () => signedAt,
    usableUntil: () => signedAt + 500,
  })
  for (let count = 0; count < requests; count++) {
    metrics.requestDone('/v1/models', 200, 'complete', 20, 10)
    metrics.bytes(100, 1000)
  }
  return { readiness, metrics: metrics.registry.format() }
}

function sampleOf(text: string, series: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `))
  return Number(line?.slice(series.length))
}

const done = 'privatemode_proxy_requests_total{route="/v1/models",status="200",outcome="complete"}'
const within50ms = 'privatemode_proxy_request_seconds_bucket{route="/v1/models",le="0.05"}'

test('counters, histograms and open requests of all processes are summed', () => {
  const { metrics } = joinReports({ reports: [report(2), report(5)], departed: '', ownBytes: 0 })
  expect(sampleOf(metrics, done)).toBe(7)
  expect(sampleOf(metrics, within50ms)).toBe(7)
  expect(sampleOf(metrics, 'privatemode_proxy_received_bytes_total')).toBe(700)
  expect(sampleOf(metrics, 'privatemode_proxy_open_requests')).toBe(6)
  expect(sampleOf(metrics, 'privatemode_proxy_processes')).toBe(2)
  expect(metrics.match(/^# TYPE privatemode_proxy_requests_total counter$/gm)).toHaveLength(1)
})

test('counts of exited processes are kept, their gauges are not', () => {
  const departed = sumCounted(sumCounted('', report(4).metrics), report(1).metrics)
  const { metrics } = joinReports({ reports: [report(2)], departed, ownBytes: 0 })
  expect(sampleOf(metrics, done)).toBe(7)
  expect(sampleOf(metrics, within50ms)).toBe(7)
  expect(sampleOf(metrics, 'privatemode_proxy_open_requests')).toBe(3)
})

test("the log's age is that of the least up-to-date process", () => {
  const reports = [report(0, ready, 2_000), report(0, ready, 1_000)]
  const { metrics } = joinReports({ reports, departed: '', ownBytes: 0 })
  expect(sampleOf(metrics, 'privatemode_proxy_log_signed_timestamp_seconds')).toBe(1_000)
  const until = 'privatemode_proxy_manifest_usable_until_timestamp_seconds'
  expect(sampleOf(metrics, until)).toBe(1_500)
})

test('memory is the sum of all processes, including the supervisor', () => {
  const { metrics } = joinReports({ reports: [report(0)], departed: '', ownBytes: 2 ** 40 })
  expect(sampleOf(metrics, 'process_resident_memory_bytes')).toBeGreaterThan(2 ** 40)
})

const cold: Readiness = {
  ready: false,
  reason: 'no manifest yet',
  manifest: null,
  verified_workers: 0,
  log_age_seconds: null,
  usable_until: null,
}

test.each([
  ['all are ready', [report(0), report(0)], { ready: true, verified_workers: 2 }],
  ['one is not', [report(0), report(0, cold)], { ready: false, reason: 'no manifest yet' }],
  ['one is silent', [report(0), undefined], { ready: false, reason: 'a process does not answer' }],
  ['there is none', [], { ready: false, verified_workers: 0 }],
])('the proxy is only as ready as its least ready process: %s', (_name, reports, expected) => {
  const joint = joinReports({ reports, departed: '', ownBytes: 0 })
  expect(joint.readiness).toMatchObject(expected)
  if (reports.length < 2) return
  const gauge = sampleOf(joint.metrics, 'privatemode_proxy_ready')
  if (reports[1] !== undefined) expect(gauge).toBe(expected.ready ? 1 : 0)
})
