/** Formats the results of a campaign. */
import type { FaultResult } from './campaign.ts'

export type Report = {
  readonly seed: number
  readonly startedAt: string
  readonly seconds: number
  readonly clients: number
  /** Requests with complete and correct answers, each looked up in the usage records. */
  readonly requests: number
  readonly keys: number
  readonly searchedBytes: number
  readonly faults: readonly FaultResult[]
  readonly leaks: readonly string[]
  /** What a reader should know about the machine. */
  readonly machine?: string
}

export function formatLine(result: FaultResult): string {
  if (result.skipped !== undefined) return `SKIPPED ${result.name}: ${result.skipped}`
  const { name, note, requests, recoverySeconds, limitSeconds, violations } = result
  const lines = [
    `${violations.length === 0 ? 'ok' : 'VIOLATED'} ${name}${note === '' ? '' : ` (${note})`}: ` +
      `${requests} requests, ${formatErrors(result)}, ` +
      `whole again after ${recoverySeconds} s (limit ${limitSeconds} s)`,
  ]
  return [...lines, ...violations.slice(0, 10).map((each) => `  violation: ${each}`)].join('\n')
}

export function formatErrors({ errors, lostReports }: FaultResult): string {
  const kinds = Object.entries(errors).toSorted((a, b) => b[1] - a[1])
  const told = kinds.map(([what, count]) => `${count} × ${what}`)
  const lost = lostReports === 0 ? [] : [`${lostReports} reports booked by the gateway`]
  return [...told, ...lost].join(', ') || 'no errors'
}

export function formatTable({ faults }: Report): string {
  const rows = faults.map((result) => {
    if (result.skipped !== undefined) return `| ${result.name} | skipped: ${result.skipped} | | | |`
    const { requests, recoverySeconds, limitSeconds, violations } = result
    return (
      `| ${result.name} | ${requests} | ${formatErrors(result)} | ` +
      `${recoverySeconds} (${limitSeconds}) | ${violations.length} |`
    )
  })
  return [
    '| fault | requests | errors that clients saw | recovery in s (limit) | violations |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}

export function summarise(report: Report): { violations: number; text: string } {
  const { faults, leaks, requests, keys, searchedBytes, seconds } = report
  const made = faults.filter((fault) => fault.skipped === undefined)
  const all = made.reduce((sum, fault) => sum + fault.requests, 0)
  const violations = made.reduce((sum, fault) => sum + fault.violations.length, 0) + leaks.length
  const slowest = Math.max(0, ...made.map((fault) => fault.recoverySeconds))
  return {
    violations,
    text:
      `${made.length} faults in ${seconds} s (${faults.length - made.length} skipped), ` +
      `${all} requests, ${requests} whole answers found in the books, ${keys} keys, ` +
      `${(searchedBytes / 2 ** 20).toFixed(0)} MiB searched, slowest recovery ${slowest} s, ` +
      `${violations} violations`,
  }
}
