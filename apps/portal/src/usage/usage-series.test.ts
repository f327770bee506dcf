import { expect, test } from 'bun:test'
import type { UsageSum } from '@privatemode/protocol/fleet'
import { describeQuantile } from './describe-quantile.ts'
import { timeRange } from './time-range.ts'
import {
  allTokens,
  cachedShare,
  completed,
  durationQuantile,
  failed,
  maxGroups,
  seriesByGroup,
  seriesOfTotals,
  total,
} from './usage-series.ts'

const noon = new Date('2030-03-15T12:34:56Z')
const { slots } = timeRange('week', noon)

function row(facts: Partial<UsageSum>): UsageSum {
  return { ...total([]), time: '2030-03-15T00:00:00.000Z', ...facts }
}

test('each group has a value in every slot, the largest group first', () => {
  const rows = [
    row({ model: 'small', prompt_tokens: 1, completion_tokens: 2 }),
    row({ model: 'large', prompt_tokens: 10, completion_tokens: 20 }),
    row({ model: 'large', prompt_tokens: 5, time: '2030-03-09T00:00:00.000Z' }),
  ]
  expect(seriesByGroup(rows, slots, ({ model }) => model ?? '', allTokens)).toEqual([
    { name: 'large', values: [5, 0, 0, 0, 0, 0, 30] },
    { name: 'small', values: [0, 0, 0, 0, 0, 0, 3] },
  ])
})

test('groups beyond the colours are summed as other, so that nothing is left out', () => {
  const rows = Array.from({ length: 9 }, (_, index) =>
    row({ model: `model-${index}`, requests: 100 - index }),
  )
  const series = seriesByGroup(
    rows,
    slots,
    ({ model }) => model ?? '',
    ({ requests }) => requests,
  )
  expect(series.length).toBe(maxGroups)
  expect(series.at(-1)?.name).toBe('other')
  const sum = series.reduce((all, { values }) => all + (values.at(-1) ?? 0), 0)
  expect(sum).toBe(rows.reduce((all, { requests }) => all + requests, 0))
})

test('a slot without requests has no value instead of zero', () => {
  const rows = [row({ prompt_tokens: 200, cached_tokens: 50 })]
  const { values } = seriesOfTotals('Cached', rows, slots, cachedShare)
  expect(values).toEqual([null, null, null, null, null, null, 0.25])
})

test('a share without prompt tokens has no value', () => {
  expect(cachedShare(row({}))).toBeNull()
})

test('durations are read from the counts, between their bounds', () => {
  const counts = row({
    requests: 100,
    up_to_300_ms: 0,
    up_to_1_s: 50,
    up_to_3_s: 90,
    up_to_10_s: 100,
    up_to_30_s: 100,
    up_to_100_s: 100,
    cost_micros: 0,
  })
  expect(durationQuantile(counts, 0.5)).toBe(1_000)
  expect(durationQuantile(counts, 0.25)).toBe(650)
  expect(durationQuantile(counts, 0.95)).toBe(6_500)
  expect(durationQuantile(row({}), 0.5)).toBeNull()
})

test('durations that the counts do not tell apart are around their mean', () => {
  const bounds = { up_to_30_s: 1, up_to_100_s: 1 }
  const one = row({ requests: 1, duration_ms: 16_100, ...bounds })
  expect([0.5, 0.95].map((share) => durationQuantile(one, share))).toEqual([16_100, 16_100])
  const ten = total(Array.from({ length: 10 }, () => one))
  expect(durationQuantile(ten, 0.5)).toBe(16_100)
  expect(durationQuantile(ten, 0.95)).toBeCloseTo(21_590)
})

test('durations beyond the last bound are reported as at least that', () => {
  expect(durationQuantile(row({ requests: 4 }), 0.5)).toBe(100_000)
})

test('failed and stopped requests do not count towards speed', () => {
  const row = (outcome: string, up_to_300_ms: number): UsageSum => ({
    ...{ time: null, outcome, requests: 100, prompt_tokens: 0, cached_tokens: 0 },
    ...{ completion_tokens: 0, duration_ms: 60_000, up_to_300_ms, up_to_1_s: 100, up_to_3_s: 100 },
    ...{ up_to_10_s: 100, up_to_30_s: 100, up_to_100_s: 100, cost_micros: 0 },
  })
  const rows = [row('complete', 0), row('failed', 100), row('aborted', 100), row('lost', 100)]
  expect(durationQuantile(total(completed(rows)), 0.5)).toBeGreaterThan(300)
  expect(total(failed(rows)).requests).toBe(200)
})

test('a quantile beyond the last bound is reported as such, not as a figure', () => {
  const none = { up_to_300_ms: 0, up_to_1_s: 0, up_to_3_s: 0, up_to_10_s: 0, up_to_30_s: 0 }
  const slow: UsageSum = {
    ...{ time: null, requests: 10, prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0 },
    ...{ duration_ms: 9_999_999, ...none, up_to_100_s: 5, cost_micros: 0 },
  }
  expect(describeQuantile(durationQuantile(slow, 0.95))).toBe('over 100 s')
  expect(describeQuantile(null)).toBe('–')
})
