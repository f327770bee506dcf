/** Turns usage sums into series for plots and tables. */
import type { UsageSum } from '@privatemode/protocol/fleet'

/** `null` is a slot without a value. */
export type Series = { readonly name: string; readonly values: readonly (number | null)[] }

export const maxGroups = 6

/** One series per group, largest first; groups beyond `maxGroups` are summed as "other". */
export function seriesByGroup(
  rows: readonly UsageSum[],
  slots: readonly Date[],
  groupOf: (row: UsageSum) => string,
  measure: (row: UsageSum) => number,
): readonly Series[] {
  const sums = new Map<string, number>()
  for (const row of rows)
    sums.set(groupOf(row), (sums.get(groupOf(row)) ?? 0) + Math.abs(measure(row)))
  const names = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name)
  const kept = names.length > maxGroups ? names.slice(0, maxGroups - 1) : names
  const shown = names.length > maxGroups ? [...kept, 'other'] : kept
  const slotOf = slotIndex(slots)
  const values = new Map(shown.map((name) => [name, slots.map(() => 0)]))
  for (const row of rows) {
    const index = slotOf(row)
    const list = values.get(kept.includes(groupOf(row)) ? groupOf(row) : 'other')
    if (index === undefined || list === undefined) continue
    list[index] = (list[index] ?? 0) + measure(row)
  }
  return shown.map((name) => ({ name, values: values.get(name) ?? [] }))
}

/** One value per slot, computed from the sums of all its rows. */
export function seriesOfTotals(
  name: string,
  rows: readonly UsageSum[],
  slots: readonly Date[],
  value: (total: UsageSum) => number | null,
): Series {
  const slotOf = slotIndex(slots)
  const inSlot: UsageSum[][] = slots.map(() => [])
  for (const row of rows) {
    const index = slotOf(row)
    if (index !== undefined) inSlot[index]?.push(row)
  }
  return { name, values: inSlot.map((list) => (list.length === 0 ? null : value(total(list)))) }
}

function slotIndex(slots: readonly Date[]): (row: UsageSum) => number | undefined {
  const byTime = new Map(slots.map((slot, index) => [slot.getTime(), index]))
  return ({ time }) => (time === null ? undefined : byTime.get(new Date(time).getTime()))
}

type Summed = Extract<
  keyof UsageSum,
  'requests' | 'duration_ms' | 'cost_micros' | `${string}_tokens` | `up_to_${string}`
>

export function total(rows: readonly UsageSum[]): UsageSum {
  const sum = (field: Summed) => rows.reduce((count, row) => count + row[field], 0)
  return {
    time: null,
    requests: sum('requests'),
    prompt_tokens: sum('prompt_tokens'),
    cached_tokens: sum('cached_tokens'),
    completion_tokens: sum('completion_tokens'),
    duration_ms: sum('duration_ms'),
    up_to_300_ms: sum('up_to_300_ms'),
    up_to_1_s: sum('up_to_1_s'),
    up_to_3_s: sum('up_to_3_s'),
    up_to_10_s: sum('up_to_10_s'),
    up_to_30_s: sum('up_to_30_s'),
    up_to_100_s: sum('up_to_100_s'),
    cost_micros: sum('cost_micros'),
  }
}

export const allTokens = (row: UsageSum): number => row.prompt_tokens + row.completion_tokens

/** The share of prompt tokens that came from the prompt cache; null without a prompt. */
export const cachedShare = (row: UsageSum): number | null =>
  row.prompt_tokens === 0 ? null : row.cached_tokens / row.prompt_tokens

/** Rows of completed requests: how long the others took says nothing about speed. */
export const completed = (rows: readonly UsageSum[]): readonly UsageSum[] =>
  rows.filter(({ outcome }) => outcome === undefined || outcome === 'complete')

/** Requests that failed or were lost; stopped ones were the client's own wish. */
export const failed = (rows: readonly UsageSum[]): readonly UsageSum[] =>
  rows.filter(({ outcome }) => outcome === 'failed' || outcome === 'lost')

/** Beyond it, the counts only say "longer". */
export const longestBoundMs = 100_000

/**
 * The duration within which a share of the requests completed, read from the counts and, if they
 * do not tell requests apart, from the mean; null for none.
 */
export function durationQuantile(row: UsageSum, share: number): number | null {
  if (row.requests === 0) return null
  const bounds: readonly (readonly [number, number])[] = [
    [300, row.up_to_300_ms],
    [1_000, row.up_to_1_s],
    [3_000, row.up_to_3_s],
    [10_000, row.up_to_10_s],
    [30_000, row.up_to_30_s],
    [longestBoundMs, row.up_to_100_s],
  ]
  const wanted = row.requests * share
  let [lowMs, lowCount] = [0, 0]
  for (const [ms, count] of bounds) {
    if (count >= wanted) {
      if (lowCount === 0 && count === row.requests) return aroundMean(row, share, lowMs, ms)
      // Interpolated evenly between the bounds: the counts have no more detail.
      return lowMs + ((wanted - lowCount) / (count - lowCount)) * (ms - lowMs)
    }
    lowMs = ms
    lowCount = count
  }
  return longestBoundMs // shown as "longer than" by `describeQuantile`
}

/** All requests are between the same two bounds: as evenly around their mean as these allow. */
function aroundMean(row: UsageSum, share: number, lowMs: number, highMs: number): number {
  const mean = Math.min(Math.max(row.duration_ms / row.requests, lowMs), highMs)
  const spread = row.requests === 1 ? 0 : Math.min(mean - lowMs, highMs - mean)
  return mean + (2 * share - 1) * spread
}
