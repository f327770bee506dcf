/** The joint state of several processes: ready if all are, with summed counters. */
import { type Readiness, unknownReadiness } from '../trust/readiness.ts'
import { MetricsSum } from './metrics-sum.ts'
import type { Report } from './questions.ts'

/** For these the minimum counts: what one process cannot do, the proxy cannot promise. */
const least = [
  'privatemode_proxy_verified_workers',
  'privatemode_proxy_ready',
  'privatemode_proxy_log_signed_timestamp_seconds',
  'privatemode_proxy_manifest_usable_until_timestamp_seconds',
]

export type JointParts = {
  /** Reports of processes that accept connections; undefined for one that does not answer. */
  readonly reports: readonly (Report | undefined)[]
  /** Counts of exited processes, so that no counter decreases. */
  readonly departed: string
  /** The supervisor's own memory. */
  readonly ownBytes: number
}

export function joinReports({ reports, departed, ownBytes }: JointParts): Report {
  const sum = new MetricsSum(least)
  for (const report of reports) if (report !== undefined) sum.add(report.metrics)
  sum.addCounted(departed)
  sum.add(
    gauge('process_resident_memory_bytes', 'Resident memory size.', ownBytes) +
      gauge('privatemode_proxy_processes', 'Processes that serve.', reports.length),
  )
  return { readiness: joinReadiness(reports), metrics: sum.format() }
}

/** The combined counts of two exited processes. */
export function sumCounted(one: string, other: string): string {
  const sum = new MetricsSum([])
  sum.addCounted(one)
  sum.addCounted(other)
  return sum.format()
}

function joinReadiness(reports: readonly (Report | undefined)[]): Readiness {
  const states = reports.map((report) => report?.readiness ?? silent)
  const worst = states.find(({ ready }) => !ready) ?? states[0] ?? silent
  const verified = Math.min(...states.map((state) => state.verified_workers))
  return { ...worst, verified_workers: Number.isFinite(verified) ? verified : 0 }
}

const silent: Readiness = { ...unknownReadiness, reason: 'a process does not answer' }

const gauge = (name: string, help: string, value: number) =>
  `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}\n`
