/** What a manifest may demand of a revocation list beyond its own window: a number, and an age. */
import type { Fields } from '../fields.ts'
import type { Transcript } from '../verdict.ts'
import type { CrlClaims } from './crl.ts'

/** Vendors' lists are valid for months: without one of these, a prover may present the oldest. */
export type CrlRule = {
  readonly minNumber: number | undefined
  readonly maxAgeHours: number | undefined
}

/** Ten years: a longer limit would look like a requirement without being one. */
const maxHours = 87_600

export function readCrlRule(fields: Fields, name: string): CrlRule | undefined {
  return fields.optional(name, () =>
    fields.object(name, (inner) => {
      const rule = {
        minNumber: inner.optional('min_number', (member) => inner.integer(member)),
        maxAgeHours: inner.optional('max_age_hours', (member) =>
          inner.integer(member, { min: 1, max: maxHours }),
        ),
      }
      if (rule.minNumber === undefined && rule.maxAgeHours === undefined) {
        fields.refuse(name, 'expected min_number or max_age_hours')
      }
      return rule
    }),
  )
}

/** `id` is the check id of the list, such as `snp/crl`. */
export function requireCrl(
  crl: CrlClaims | undefined,
  rule: CrlRule | undefined,
  transcript: Transcript,
  id: string,
): void {
  if (rule === undefined) {
    transcript.skip(`${id}/minimum`, 'the manifest demands no number and no age of the list')
    return
  }
  if (crl === undefined) transcript.fail(`${id}/present`, 'crl_missing', 'manifest demands a list')
  const { minNumber, maxAgeHours } = rule
  if (minNumber !== undefined) {
    transcript.require(
      crl.number !== undefined && BigInt(crl.number) >= BigInt(minNumber),
      `${id}/number`,
      'crl_stale',
      `list has number ${crl.number ?? 'none'}, manifest demands at least ${minNumber}`,
    )
  }
  if (maxAgeHours !== undefined) {
    transcript.require(
      crl.ageHours <= maxAgeHours,
      `${id}/age`,
      'crl_stale',
      `list is ${crl.ageHours.toFixed(1)} hours old, manifest accepts ${maxAgeHours}`,
    )
  }
}
