/** Usage: how much, of what, by whom, how fast. */
import type { Key } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { type RangeName, type TimeRange, timeRange } from '../../../usage/time-range.ts'
import type { UsageSum } from '../../../usage/usage-series.ts'
import { adminPath, callApi } from '../../api/call-api.ts'
import { useLoad } from '../../load.ts'
import type { PageProps } from '../../page-props.ts'
import { Link } from '../../router.tsx'
import { Failure } from '../../view/failure.tsx'
import { Choice } from '../../view/field.tsx'
import { PageHead } from '../../view/page-head.tsx'
import { Waiting } from '../../view/waiting.tsx'
import { type Group, UsagePlots } from './usage-plots.tsx'
import { UsageTiles } from './usage-tiles.tsx'

type Scope = 'own' | 'all'

export function UsagePage({ member }: PageProps) {
  const [name, setName] = useState<RangeName>('week')
  const [group, setGroup] = useState<Group>('model')
  const [scope, setScope] = useState<Scope>('own')
  const account = scope === 'own' ? member.account_id : undefined
  const [loaded, reload] = useLoad(() => loadUsage(name, group, account), [name, group, account])
  return (
    <>
      <PageHead
        title="Usage"
        lead="Counted by the machines and signed by them. The gateway knows numbers, never content."
      >
        {loaded.kind === 'ready' && (
          <a
            class="button plain"
            href={exportUrl(loaded.value.range, account)}
            download="usage.csv"
          >
            Export CSV
          </a>
        )}
      </PageHead>
      <div class="filters">
        <Choice
          label="Time"
          value={name}
          onValue={setName}
          options={[
            ['day', 'Last 24 hours'],
            ['week', 'Last 7 days'],
            ['month', 'Last 30 days'],
            ['year', 'Last 12 months'],
          ]}
        />
        <Choice
          label="Split by"
          value={group}
          onValue={setGroup}
          options={[
            ['model', 'Model'],
            ['key', 'API key'],
          ]}
        />
        {member.operates && (
          <Choice
            label="Of"
            value={scope}
            onValue={setScope}
            options={[
              ['own', 'Your account'],
              ['all', 'All accounts'],
            ]}
          />
        )}
      </div>
      {loaded.kind === 'loading' && <Waiting what="usage" lines={6} />}
      {loaded.kind === 'failed' && (
        <Failure error={loaded.error} what="The usage could not be loaded" onRetry={reload} />
      )}
      {loaded.kind === 'ready' && loaded.value.rows.length === 0 && (
        <div class="empty">
          <h2>Nothing in this time</h2>
          <p>
            Make a call as the <Link to="/">quick start</Link> shows, or in the{' '}
            <Link to="/playground">playground</Link>. It appears here within seconds.
          </p>
        </div>
      )}
      {loaded.kind === 'ready' && loaded.value.rows.length > 0 && (
        <div aria-busy={loaded.refreshing}>
          <UsageTiles rows={loaded.value.rows} />
          <UsagePlots {...loaded.value} />
        </div>
      )}
    </>
  )
}

type Usage = {
  readonly range: TimeRange
  readonly group: Group
  readonly rows: readonly UsageSum[]
  readonly keyNames: ReadonlyMap<string, string>
}

async function loadUsage(
  name: RangeName,
  group: Group,
  account: string | undefined,
): Promise<Usage> {
  const range = timeRange(name, new Date())
  const query = new URLSearchParams({
    ...rangeQuery(range, account),
    step: range.step,
    by: `${group},outcome`,
  })
  const [{ rows }, { keys }] = await Promise.all([
    callApi<{ rows: readonly UsageSum[] }>('GET', `/usage?${query}`),
    callApi<{ keys: readonly Key[] }>('GET', '/keys'),
  ])
  return { range, group, rows, keyNames: new Map(keys.map((key) => [key.id, key.name])) }
}

function rangeQuery({ from, to }: TimeRange, account: string | undefined): Record<string, string> {
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    ...(account === undefined ? {} : { account }),
  }
}

const exportUrl = (range: TimeRange, account: string | undefined) =>
  `${adminPath}/usage/export.csv?${new URLSearchParams(rangeQuery(range, account))}`
