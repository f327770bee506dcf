/** The plots of the usage page. */

import { describeQuantile } from '../../../usage/describe-quantile.ts'
import { formatSlot, type TimeRange } from '../../../usage/time-range.ts'
import {
  allTokens,
  cachedShare,
  completed,
  durationQuantile,
  failed,
  seriesByGroup,
  seriesOfTotals,
  type UsageSum,
} from '../../../usage/usage-series.ts'
import { formatCount, formatSeconds, formatShare, formatShort } from '../../../words/format-time.ts'
import { PlotCard } from './plot-card.tsx'

export type Group = 'model' | 'key'

type UsagePlotsProps = {
  readonly rows: readonly UsageSum[]
  readonly range: TimeRange
  readonly group: Group
  readonly keyNames: ReadonlyMap<string, string>
}

export function UsagePlots({ rows, range, group, keyNames }: UsagePlotsProps) {
  const { slots, step } = range
  const labels = slots.map((slot) => formatSlot(slot, step))
  const groupOf = (row: UsageSum) =>
    group === 'model' ? (row.model ?? '') : (keyNames.get(row.key_id ?? '') ?? row.key_id ?? '')
  const latency = (share: number) => (row: UsageSum) => durationQuantile(row, share)
  const by = group === 'model' ? 'by model' : 'by key'
  return (
    <div class="plots">
      <PlotCard
        title={`Tokens ${by}`}
        kind="stack"
        labels={labels}
        series={seriesByGroup(rows, slots, groupOf, allTokens)}
        format={formatCount}
        formatAxis={formatShort}
      />
      <PlotCard
        title={`Requests ${by}`}
        kind="stack"
        labels={labels}
        series={seriesByGroup(rows, slots, groupOf, ({ requests }) => requests)}
        format={formatCount}
        formatAxis={formatShort}
      />
      <PlotCard
        title="Cached share of prompt tokens"
        kind="line"
        top={1}
        labels={labels}
        series={[seriesOfTotals('Cached', rows, slots, cachedShare)]}
        format={formatShare}
        formatAxis={formatShare}
      />
      <PlotCard
        title="Failed requests"
        kind="stack"
        labels={labels}
        series={seriesByGroup(failed(rows), slots, groupOf, ({ requests }) => requests)}
        format={formatCount}
        formatAxis={formatShort}
      />
      <PlotCard
        title="Duration of complete answers"
        kind="line"
        labels={labels}
        series={[
          seriesOfTotals('Median', completed(rows), slots, latency(0.5)),
          seriesOfTotals('95 %', completed(rows), slots, latency(0.95)),
        ]}
        format={describeQuantile}
        formatAxis={formatSeconds}
      />
    </div>
  )
}
