/** What a machine's evidence is and what it measures, read from the checks that it passed. */

type Checked = { readonly id: string; readonly result: string; readonly detail: string }

export type Evidence = {
  /** `AMD SEV-SNP with NVIDIA GPUs`. */
  readonly kind: string
  /** Of the software that was started; undefined where no check names it. */
  readonly measurement: string | undefined
}

const kinds = [
  ['snp/', 'AMD SEV-SNP'],
  ['tdx/', 'Intel TDX'],
  ['software/', 'Software (trial)'],
] as const

const measuredBy = /^(?:(?:snp|software)\/measurement|tdx\/measurements)$/

export function describeEvidence(checks: readonly Checked[]): Evidence {
  const has = (start: string) => checks.some(({ id }) => id.startsWith(start))
  const cpu = kinds.find(([start]) => has(start))?.[1] ?? 'Unknown'
  const measured = checks.find(({ id, result }) => measuredBy.test(id) && result === 'passed')
  const [measurement] = /[0-9a-f]{64,}/.exec(measured?.detail ?? '') ?? []
  return { kind: has('nvidia') ? `${cpu} with NVIDIA devices` : cpu, measurement }
}
