import { expect, test } from 'bun:test'
import { ReplayGuard } from '@privatemode/protocol/envelope'
import { statementFacts } from '../testing/statement-facts.ts'
import { renewAfterClockTurnedBack } from './clock-turned-back.ts'
import { SealKeys } from './seal-keys.ts'

const minuteMs = 60_000

test('a worker whose clock was set back accepts requests again, but only under a new key', async () => {
  let now = 1_000 * minuteMs
  let id = 0
  const keys = new SealKeys(statementFacts, () => new Date(now))
  const guard = new ReplayGuard(undefined, () => now)
  const accept = () => {
    const requestId = new Uint8Array(16).fill(++id)
    const fixed = { method: 'POST', path: '/v1/chat/completions', model: 'm' }
    guard.accept({ ...fixed, requestId, issuedAtMs: now })
  }
  const before = await keys.current()
  for (let step = 0; step < 4; step++) {
    now += 10 * minuteMs
    accept()
    expect(renewAfterClockTurnedBack(keys, guard)).toBe(false)
  }
  now -= 40 * minuteMs
  expect(accept).toThrow('no longer remembered')
  expect(renewAfterClockTurnedBack(keys, guard)).toBe(true)
  expect(renewAfterClockTurnedBack(keys, guard)).toBe(false)
  accept()
  const after = await keys.current()
  expect(after.id).not.toBe(before.id)
  expect(
    keys.findSecret(new Uint8Array(Buffer.from(before.id, 'hex')), new Uint8Array(1120)),
  ).toBeUndefined()
})
