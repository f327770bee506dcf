/** The totals of a time range in large figures. */

import type { UsageSum } from '@privatemode/protocol/fleet'
import { describeQuantile } from '../../../usage/describe-quantile.ts'
import { formatMoney } from '../../../usage/money.ts'
import {
  cachedShare,
  completed,
  durationQuantile,
  failed,
  total,
} from '../../../usage/usage-series.ts'
import { formatCount, formatShare } from '../../../words/format-time.ts'

type UsageTilesProps = {
  readonly rows: readonly UsageSum[]
  /** Null where nothing has a price. */
  readonly currency: string | null
}

export function UsageTiles({ rows, currency }: UsageTilesProps) {
  const sums = total(rows)
  const cached = cachedShare(sums)
  const whole = total(completed(rows))
  const failures = total(failed(rows)).requests
  const tiles: readonly (readonly [string, string])[] = [
    ...(currency === null ? [] : [['Cost', formatMoney(sums.cost_micros, currency)] as const]),
    ['Requests', formatCount(sums.requests)],
    ['Input tokens', formatCount(sums.prompt_tokens)],
    ['Input from cache', cached === null ? '–' : formatShare(cached)],
    ['Output tokens', formatCount(sums.completion_tokens)],
    ['Median duration', describeQuantile(durationQuantile(whole, 0.5))],
    ['95 % within', describeQuantile(durationQuantile(whole, 0.95))],
    [
      'Failed',
      failures === 0 ? '0' : `${formatCount(failures)} (${formatShare(failures / sums.requests)})`,
    ],
  ]
  return (
    <dl class="tiles">
      {tiles.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd data-tile={name}>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
