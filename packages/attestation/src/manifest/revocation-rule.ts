/** What a manifest demands of OCSP responses, whatever a client's flags tolerate. */
import type { RevocationPolicy } from '../evidence.ts'
import type { Fields } from '../fields.ts'

export type RevocationRule = {
  /** Every certificate needs a response. */
  readonly require: true
  /** The maximum age of a response; its own validity window may be longer. */
  readonly maxAgeHours: number | undefined
  /** The longest time that "revoked" is tolerated, even if a flag would tolerate more. */
  readonly revokedGraceHours: number | undefined
}

const maxHours = 8760

export function readRevocationRule(fields: Fields): RevocationRule {
  // `false` would look like a requirement without being one: omit the member instead.
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

/** The stricter of the two in every respect. */
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
