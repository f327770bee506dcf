/** What a manifest leaves open but could restrict: warnings of `manifest check`, errors with `--strict`. */
import type { Manifest } from '@privatemode/attestation'

export function findWeaknesses(manifest: Manifest): string[] {
  return [...lifetime(manifest), ...tcbRecoveries(manifest)]
}

/** TCB info stays valid for weeks after Intel's next recovery, and a machine supplies its own. */
function tcbRecoveries({ roles }: Manifest): string[] {
  return Object.entries(roles).flatMap(([role, policy]) =>
    (policy?.accept ?? []).flatMap((one, index) =>
      one.kind === 'tdx' && one.rule.minTcbEvaluationDataNumber === undefined
        ? [
            `rule ${index + 1} of role ${role} has no min_tcb_evaluation_data_number: the machine chooses which of Intel's TCB recoveries it is checked against`,
          ]
        : [],
    ),
  )
}

const dayMs = 24 * 3_600_000
const longestDays = 366

function lifetime({ issuedAt, expiresAt }: Manifest): string[] {
  if (expiresAt === undefined) {
    return ['it does not expire: expires_at is missing, so only the age of the log bounds its use']
  }
  const days = Math.round((expiresAt.getTime() - issuedAt.getTime()) / dayMs)
  return days > longestDays ? [`it is valid for ${days} days, more than ${longestDays}`] : []
}
