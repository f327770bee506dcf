/**
 * How old a log's statement that nothing newer exists may be, which bounds how long clients can be
 * kept on an old manifest.
 */
import { formatInstant } from '../fields.ts'
import { AttestationError } from '../verdict.ts'

/** Three missed days of a log that is signed daily. */
export const defaultMaxLogAgeHours = 72

const hourMs = 3_600_000
/** Clocks are rarely exact to the minute; a log that is further ahead shows that one of the two is wrong. */
const maxAheadMs = hourMs

/** No correct clock shows a time before this. */
const written = new Date('2026-01-01T00:00:00Z')

/** When a log signature was made, and until when it is accepted. */
export type LogFreshness = { readonly asOf: Date; readonly staleAt: Date }

/** Refuses a signature older than `maxAgeHours` at `at`, one without a time, and a clock that is behind. */
export function requireFreshLog(
  asOf: Date | undefined,
  at: Date,
  maxAgeHours: number,
): LogFreshness {
  requireClock(at, written, 'this program was written')
  if (asOf === undefined) {
    throw new AttestationError(
      'log_stale',
      'the manifest log does not say when it was signed; its operator must sign it again: manifest publish --refresh',
    )
  }
  requireClock(at, asOf, 'the manifest log was signed')
  const staleAt = new Date(asOf.getTime() + maxAgeHours * hourMs)
  if (at < staleAt) return { asOf, staleAt }
  throw new AttestationError(
    'log_stale',
    `the manifest log was last signed ${Math.floor((at.getTime() - asOf.getTime()) / hourMs)} hours ago ` +
      `(${formatInstant(asOf)}), at most ${maxAgeHours} are allowed: newer manifests may be withheld`,
  )
}

/** Refuses a clock that is well behind an event that has already happened. */
export function requireClock(at: Date, happened: Date, what: string): void {
  if (at.getTime() >= happened.getTime() - maxAheadMs) return
  throw new AttestationError(
    'clock_untrusted',
    `this machine's clock shows ${formatInstant(at)}, but ${what} at ${formatInstant(happened)}; set the clock`,
  )
}
