/** What a worker does when its clock is turned back: new keys, so that it need not wait for the old time. */
import type { ReplayGuard } from '@privatemode/protocol/envelope'
import type { SealKeys } from './seal-keys.ts'

/**
 * Behind its own past a worker can no longer tell replays from new requests, so it would refuse all of
 * them until the clock is there again: hours, after a clock that was hours ahead. Requests sealed to
 * keys that are gone cannot be replayed at all; clients find the new key by themselves.
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
