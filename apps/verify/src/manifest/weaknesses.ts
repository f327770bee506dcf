/** What a manifest leaves open that it could close: warnings of `manifest check`, refusals with `--strict`. */
import type { Manifest } from '@privatemode/attestation'

export function findWeaknesses(manifest: Manifest): string[] {
  return [...lifetime(manifest)]
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
