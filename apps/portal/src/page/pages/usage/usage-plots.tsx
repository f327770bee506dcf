/** The plots of the usage page. */

import type { UsageSum } from '@privatemode/protocol/fleet'
import { describeQuantile } from '../../../usage/describe-quantile.ts'
import { formatMoney } from '../../../usage/money.ts'
import { formatSlot, type TimeRange } from '../../../usage/time-range.ts'
import {
  allTokens,
  cachedShare,
  completed,
  durationQuantile,
  failed,
  seriesByGroup,
  seriesOfTotals,
} from '../../../usage/usage-series.ts'
import { formatCount, formatSeconds, formatShare, formatShort } from '../../../words/format-time.ts'
import { PlotCard } from './plot-card.tsx'

export type Group = 'model' | 'key' | 'member'

type UsagePlotsProps = {
  readonly rows: readonly UsageSum[]
  readonly range: TimeRange
  /** "by model". */
  readonly by: string
  readonly groupOf: (row: UsageSum) => string
  /** Null where nothing has a price. */
  readonly currency: string | null
}

export function UsagePlots({ rows, range, by, groupOf, currency }: UsagePlotsProps) {
  const { slots, step } = range
  const labels = slots.map((slot) => formatSlot(slot, step))
  const latency = (share: number) => (row: UsageSum) => durationQuantile(row, share)
  return (
    <div class="plots">
      {currency !== null && (
        <PlotCard
          title={`Cost ${by}`}
          kind="stack"
          labels={labels}
          series={seriesByGroup(rows, slots, groupOf, ({ cost_micros }) => cost_micros)}
          format={(micros) => formatMoney(micros, currency)}
          formatAxis={(micros) => formatMoney(micros, currency)}
        />
      )}
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
        title="Cached share of input tokens"
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
