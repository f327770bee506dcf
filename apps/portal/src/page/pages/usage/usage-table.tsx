/** The same time once more as one row for each model, key or member. */
import type { UsageSum } from '@privatemode/protocol/fleet'
import { describeQuantile } from '../../../usage/describe-quantile.ts'
import { formatMoney } from '../../../usage/money.ts'
import { completed, durationQuantile, failed, total } from '../../../usage/usage-series.ts'
import { formatCount } from '../../../words/format-time.ts'
import { FoldTable } from '../../view/fold-table.tsx'

type UsageTableProps = {
  readonly title: string
  /** What a row is: "Model". */
  readonly of: string
  readonly rows: readonly UsageSum[]
  readonly groupOf: (row: UsageSum) => string
  readonly currency: string | null
}

export function UsageTable({ title, of, rows, groupOf, currency }: UsageTableProps) {
  const groups = [...new Set(rows.map(groupOf))]
    .map((name) => ({ name, own: rows.filter((row) => groupOf(row) === name) }))
    .map((group) => ({ ...group, sums: total(group.own) }))
    .sort((a, b) => b.sums.cost_micros - a.sums.cost_micros || b.sums.requests - a.sums.requests)
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <FoldTable
        columns={[
          of,
          'Requests',
          'Failed',
          'Input',
          'Cached',
          'Output',
          'Median',
          '95 % within',
          ...(currency === null ? [] : ['Cost']),
        ]}
        withActions={false}
      >
        {groups.map(({ name, own, sums }) => {
          const whole = total(completed(own))
          return (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td data-label="Requests">{formatCount(sums.requests)}</td>
              <td data-label="Failed">{formatCount(total(failed(own)).requests)}</td>
              <td data-label="Input">{formatCount(sums.prompt_tokens)}</td>
              <td data-label="Cached">{formatCount(sums.cached_tokens)}</td>
              <td data-label="Output">{formatCount(sums.completion_tokens)}</td>
              <td data-label="Median">{describeQuantile(durationQuantile(whole, 0.5))}</td>
              <td data-label="95 % within">{describeQuantile(durationQuantile(whole, 0.95))}</td>
              {currency !== null && (
                <td data-label="Cost">{formatMoney(sums.cost_micros, currency)}</td>
              )}
            </tr>
          )
        })}
      </FoldTable>
    </section>
  )
}
