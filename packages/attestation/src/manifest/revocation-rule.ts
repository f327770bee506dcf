/** What a manifest demands of OCSP answers, whatever a client's flags tolerate. */
import type { RevocationPolicy } from '../evidence.ts'
import type { Fields } from '../fields.ts'

export type RevocationRule = {
  /** Every certificate needs an answer. */
  readonly require: true
  /** How old an answer may be; its own window may be longer. */
  readonly maxAgeHours: number | undefined
  /** The longest time that "revoked" is tolerated, where a flag would tolerate more. */
  readonly revokedGraceHours: number | undefined
}

const maxHours = 8760

export function readRevocationRule(fields: Fields): RevocationRule {
  // False would read like a demand and be none: the member is left out instead.
  if (!fields.boolean('require')) fields.refuse('require', 'expected true')
  return {
    require: true,
    maxAgeHours: fields.optional('max_age_hours', (name) =>
      fields.integer(name, { min: 1, max: maxHours }),
    ),
    revokedGraceHours: fields.optional('revoked_grace_hours', (name) =>
      fields.integer(name, { min: 0, max: maxHours }),
    ),
  }
}

/** The stricter of both in everything. */
export function tightenRevocation(
  policy: RevocationPolicy,
  rule: RevocationRule | undefined,
): RevocationPolicy {
  if (rule === undefined) return policy
  const { maxAgeHours, revokedGraceHours = policy.revokedGraceHours } = rule
  return {
    allowUnknown: false,
    revokedGraceHours: Math.min(policy.revokedGraceHours, revokedGraceHours),
    ...(maxAgeHours !== undefined && { maxAgeHours }),
  }
}
