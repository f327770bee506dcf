/** Replaces the worker's keys when its clock is set back, so that it need not wait for the old time. */
import type { ReplayGuard } from '@privatemode/protocol/envelope'
import type { SealKeys } from './seal-keys.ts'

/**
 * While the clock is behind its own past, a worker cannot tell replays from new requests, so it
 * would refuse all of them until the clock catches up: hours, after a clock that was hours ahead.
 * Requests sealed to discarded keys cannot be replayed at all; clients find the new key by
 * themselves.
 */
export function renewAfterClockTurnedBack(
  keys: Pick<SealKeys, 'forget'>,
  guard: Pick<ReplayGuard, 'isBehind' | 'forget'>,
): boolean {
  if (!guard.isBehind) return false
  keys.forget()
  guard.forget()
  return true
}
