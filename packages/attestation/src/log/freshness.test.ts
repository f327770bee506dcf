import { expect, test } from 'bun:test'
import { requireClock, requireFreshLog } from './freshness.ts'

const hourMs = 3_600_000
const asOf = new Date('2026-03-01T12:00:00Z')
const after = (hours: number, ms = 0) => new Date(asOf.getTime() + hours * hourMs + ms)
const judged = (at: Date, signed: Date | undefined = asOf, maxAgeHours = 72) => {
  try {
    return requireFreshLog(signed, at, maxAgeHours)
  } catch (error) {
    return (error as { code: string }).code
  }
}

test('a log signature is accepted up to the age limit, and not a millisecond longer', () => {
  expect(judged(asOf)).toEqual({ asOf, staleAt: after(72) })
  expect(judged(after(72, -1))).toEqual({ asOf, staleAt: after(72) })
  expect(judged(after(72))).toBe('log_stale')
  expect(judged(after(1), asOf, 1)).toBe('log_stale')
  expect(() => requireFreshLog(undefined, asOf, 72)).toThrow('does not say when it was signed')
})

test('a clock more than an hour behind the log is not trusted', () => {
  expect(judged(after(-1))).toEqual({ asOf, staleAt: after(72) })
  expect(judged(after(-1, -1))).toBe('clock_untrusted')
})

test('a clock earlier than this program was written is not trusted, whatever the log says', () => {
  const longAgo = new Date('2001-01-01T00:00:00Z')
  expect(judged(longAgo, longAgo)).toBe('clock_untrusted')
  expect(() => requireFreshLog(undefined, longAgo, 72)).toThrow('set the clock')
})

test('a refusal reports the clock and the later event', () => {
  expect(() => requireClock(after(-2), asOf, 'the manifest was issued')).toThrow(
    "this machine's clock shows 2026-03-01T10:00:00Z, but the manifest was issued at 2026-03-01T12:00:00Z; set the clock",
  )
})
