/** The lifetime of a key that a member creates or changes: no longer than admins allow. */
import { ApiError } from '@privatemode/protocol/api'

export type ExpiryBounds = {
  /** The expiry an admin gave this key. */
  readonly latestExpiry: Date | null
  /** How long the account lets a secret of its members' keys last. */
  readonly keyDays: number | null
  /** When the key got its secret. */
  readonly secretSince: Date
  /** What it has now; undefined for a new key. */
  readonly expiresAt: Date | null | undefined
}

const dayMs = 86_400_000

/** The expiry for a key: as requested, or as late as possible. Throws if it would be too late. */
export function memberExpiry(
  wish: Date | null | undefined,
  { latestExpiry, keyDays, secretSince, expiresAt }: ExpiryBounds,
): Date | null {
  const byPolicy = keyDays === null ? null : new Date(secretSince.getTime() + keyDays * dayMs)
  const latest = earlier(latestExpiry, byPolicy)
  if (latest === null) return wish ?? null
  if (wish === undefined) return latest
  if (wish !== null && wish <= latest) return wish
  // A key from before the policy may last longer already; its life can be shortened all the same.
  if (wish !== null && expiresAt !== undefined && earlier(wish, expiresAt) === wish) return wish
  const day = latest.toISOString().slice(0, 10)
  throw new ApiError(
    'permission_denied',
    `an admin limited this key: it expires on ${day} at the latest`,
    {
      param: 'expires_at',
    },
  )
}

function earlier(one: Date | null, other: Date | null): Date | null {
  if (one === null || other === null) return one ?? other
  return one < other ? one : other
}
