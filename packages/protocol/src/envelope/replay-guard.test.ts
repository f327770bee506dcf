import { expect, test } from 'bun:test'
import { ReplayGuard } from './replay-guard.ts'

const limits = { maxAgeMs: 1000, maxAheadMs: 500, maxRemembered: 4 }
const request = (id: number, issuedAtMs: number) => ({
  requestId: new Uint8Array(16).fill(id),
  issuedAtMs,
  method: 'POST',
  path: '/v1/chat/completions',
  model: 'm',
})

function guardAt(start: number) {
  const clock = { now: start }
  return { clock, guard: new ReplayGuard(limits, () => clock.now) }
}

const codeOf = (act: () => void) => {
  try {
    act()
  } catch (error) {
    return (error as { code: string }).code
  }
  return 'accepted'
}

test('a request is accepted once', () => {
  const { guard } = guardAt(10_000)
  expect(codeOf(() => guard.accept(request(1, 10_000)))).toBe('accepted')
  expect(codeOf(() => guard.accept(request(1, 10_000)))).toBe('replayed')
  expect(codeOf(() => guard.accept(request(2, 10_000)))).toBe('accepted')
})

test('a request that is too old or from the future is refused', () => {
  const { guard } = guardAt(10_000)
  expect(codeOf(() => guard.accept(request(1, 8_999)))).toBe('stale_request')
  expect(codeOf(() => guard.accept(request(2, 10_501)))).toBe('stale_request')
  expect(codeOf(() => guard.accept(request(3, 9_000)))).toBe('accepted')
  expect(codeOf(() => guard.accept(request(4, 10_500)))).toBe('accepted')
})

test('a request is remembered for as long as it could be accepted again', () => {
  const { clock, guard } = guardAt(10_000)
  guard.accept(request(1, 10_500))
  for (let now = 10_000; now <= 11_500; now += 100) {
    clock.now = now
    expect(codeOf(() => guard.accept(request(1, 10_500)))).toBe('replayed')
  }
  clock.now = 11_501
  expect(codeOf(() => guard.accept(request(1, 10_500)))).toBe('stale_request')
})

test('setting the clock back lets no forgotten request through', () => {
  const { clock, guard } = guardAt(10_000)
  guard.accept(request(1, 10_000))
  for (const now of [20_000, 30_000, 40_000]) {
    clock.now = now
    guard.accept(request(now / 10_000, now))
  }
  clock.now = 10_000
  expect(codeOf(() => guard.accept(request(1, 10_000)))).toBe('stale_request')
})

test('memory is bounded: requests beyond the limit within the window are refused', () => {
  const { guard } = guardAt(10_000)
  for (let id = 1; id <= 4; id++) guard.accept(request(id, 10_000))
  expect(codeOf(() => guard.accept(request(5, 10_000)))).toBe('overloaded')
})

test('a clock set back behind forgotten requests is detected and can be recovered from', () => {
  const { clock, guard } = guardAt(10_000)
  for (const now of [10_000, 20_000, 30_000, 40_000]) {
    clock.now = now
    guard.accept(request(now / 10_000, now))
    expect(guard.isBehind).toBe(false)
  }
  clock.now = 10_500
  expect(guard.isBehind).toBe(true)
  expect(codeOf(() => guard.accept(request(9, 10_500)))).toBe('stale_request')
  guard.forget()
  expect(guard.isBehind).toBe(false)
  expect(codeOf(() => guard.accept(request(9, 10_500)))).toBe('accepted')
})
