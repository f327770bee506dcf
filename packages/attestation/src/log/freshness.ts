/** How old a log's word that nothing newer exists may be: the bound on keeping clients on an old manifest. */
import { formatInstant } from '../fields.ts'
import { AttestationError } from '../verdict.ts'

/** Three missed days of a log that is signed anew every day. */
export const defaultMaxLogAgeHours = 72

const hourMs = 3_600_000
/** Clocks are seldom right to the minute; a log that is further ahead shows that one of them is wrong. */
const maxAheadMs = hourMs

/** No clock that is right shows a time before this. */
const written = new Date('2026-01-01T00:00:00Z')

/** When a log's word was given, and until when it counts. */
export type LogFreshness = { readonly asOf: Date; readonly staleAt: Date }

/** Refuses what is older than `maxAgeHours` at `at`, what has no time, and a clock that is behind. */
export function requireFreshLog(
  asOf: Date | undefined,
  at: Date,
  maxAgeHours: number,
): LogFreshness {
  requireClock(at, written, 'this program was written')
  if (asOf === undefined) {
    throw new AttestationError(
      'log_stale',
      'the manifest log does not say when it was signed; its operator must sign it anew: manifest publish --refresh',
    )
  }
  requireClock(at, asOf, 'the manifest log was signed')
  const staleAt = new Date(asOf.getTime() + maxAgeHours * hourMs)
  if (at < staleAt) return { asOf, staleAt }
  throw new AttestationError(
    'log_stale',
    `the manifest log was last signed and cosigned ${Math.floor((at.getTime() - asOf.getTime()) / hourMs)} hours ago ` +
      `(${formatInstant(asOf)}), at most ${maxAgeHours} are allowed: its operator has stopped signing it, ` +
      'or someone withholds newer manifests',
  )
}

/** Refuses a clock that shows a time well before something that has happened already. */
export function requireClock(at: Date, happened: Date, what: string): void {
  if (at.getTime() >= happened.getTime() - maxAheadMs) return
  throw new AttestationError(
    'clock_untrusted',
    `this machine's clock shows ${formatInstant(at)}, but ${what} at ${formatInstant(happened)}; set the clock`,
  )
}
