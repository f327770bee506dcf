/** The sums of a time in large figures. */
import { cachedShare, durationQuantile, total, type UsageSum } from '../../../usage/usage-series.ts'
import { formatCount, formatDuration, formatShare } from '../../../words/format-time.ts'

export function UsageTiles({ rows }: { readonly rows: readonly UsageSum[] }) {
  const sums = total(rows)
  const cached = cachedShare(sums)
  const median = durationQuantile(sums, 0.5)
  const tiles: readonly (readonly [string, string])[] = [
    ['Requests', formatCount(sums.requests)],
    ['Prompt tokens', formatCount(sums.prompt_tokens)],
    ['of them cached', cached === null ? '–' : formatShare(cached)],
    ['Completion tokens', formatCount(sums.completion_tokens)],
    ['Median duration', median === null ? '–' : `≈ ${formatDuration(median)}`],
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
