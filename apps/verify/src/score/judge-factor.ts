/** Assesses one factor of the scorecard from the checks of a verification, with the evidence. */
import type { Check } from '@privatemode/attestation'

export type FactorVerdict = {
  readonly verdict: 'met' | 'not met' | 'not checked' | 'not applicable'
  /** What the check saw, or why there is nothing to see. */
  readonly evidence: string
}

/** The result of one verification. */
export type Seen = {
  readonly kind: 'snp' | 'tdx' | 'software'
  readonly hasDevices: boolean
  readonly checks: readonly Check[]
}

export type Judge = (seen: Seen) => FactorVerdict

/** Met if every check matching each pattern has passed; a check that was never made is not a pass. */
export function byChecks(...patterns: readonly RegExp[]): Judge {
  return ({ checks }) => {
    const found = patterns.map((pattern) => checks.filter(({ id }) => pattern.test(id)))
    const all = found.flat()
    const failed = all.find(({ result }) => result === 'failed')
    if (failed !== undefined) return { verdict: 'not met', evidence: describe(failed) }
    if (found.some((matches) => matches.length === 0)) {
      return { verdict: 'not checked', evidence: 'the verification made no such check' }
    }
    const skipped = all.find(({ result }) => result === 'skipped')
    if (skipped !== undefined) return { verdict: 'not checked', evidence: describe(skipped) }
    // The last check of a pattern is the one the others lead up to.
    const shown = found.flatMap((matches) => matches.at(-1) ?? [])
    return { verdict: 'met', evidence: shown.map(describe).join('; ') }
  }
}

/** Software attestation meets no factor about hardware. */
export function byHardware(judges: { readonly snp: Judge; readonly tdx: Judge }): Judge {
  return (seen) => {
    if (seen.kind !== 'software') return judges[seen.kind](seen)
    return notMet('the machine has no confidential hardware')(seen)
  }
}

/** For factors about GPUs: not applicable to a machine without any. */
export function byDevices(judge: Judge): Judge {
  return (seen) => {
    if (seen.kind === 'software') return byHardware({ snp: judge, tdx: judge })(seen)
    return seen.hasDevices ? judge(seen) : notApplicable('the machine shows no GPU')(seen)
  }
}

export const notApplicable =
  (evidence: string): Judge =>
  () => ({ verdict: 'not applicable', evidence })

export const notMet =
  (evidence: string): Judge =>
  () => ({ verdict: 'not met', evidence })

export const notChecked =
  (evidence: string): Judge =>
  () => ({ verdict: 'not checked', evidence })

const maxDetail = 160

function describe({ id, detail }: Check): string {
  return `${id}: ${detail.length > maxDetail ? `${detail.slice(0, maxDetail)}…` : detail}`
}
