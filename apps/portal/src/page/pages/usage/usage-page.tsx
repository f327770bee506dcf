/** Usage: how much, of what, by whom, how fast, and what it costs. */
import type {
  Budget,
  Key,
  Member,
  Prices,
  ServedModel,
  UsageSum,
} from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { type RangeName, type TimeRange, timeRange } from '../../../usage/time-range.ts'
import { adminPath, callApi } from '../../api/call-api.ts'
import { useLoad } from '../../load.ts'
import type { PageProps } from '../../page-props.ts'
import { Link } from '../../router.tsx'
import { Failure } from '../../view/failure.tsx'
import { Choice } from '../../view/field.tsx'
import { PageHead } from '../../view/page-head.tsx'
import { Waiting } from '../../view/waiting.tsx'
import { BudgetCard, BudgetWarnings } from './budget-card.tsx'
import { PriceCard } from './price-card.tsx'
import { type Group, UsagePlots } from './usage-plots.tsx'
import { UsageTable } from './usage-table.tsx'
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
            ['member', 'Member'],
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
      {loaded.kind === 'ready' && (
        <div aria-busy={loaded.refreshing}>
          <UsageView {...loaded.value} member={member} onChanged={reload} />
        </div>
      )}
    </>
  )
}

type Usage = {
  readonly range: TimeRange
  readonly group: Group
  readonly rows: readonly UsageSum[]
  readonly prices: Prices
  readonly budgets: readonly Budget[]
  readonly models: readonly string[]
  readonly keyNames: ReadonlyMap<string, string>
  /** Those that still work. */
  readonly liveKeys: ReadonlyMap<string, string>
  readonly memberNames: ReadonlyMap<string, string>
}

type UsageViewProps = Usage & PageProps & { readonly onChanged: () => Promise<void> }

const groupWords: Record<Group, string> = { model: 'Model', key: 'Key', member: 'Member' }

function UsageView(props: UsageViewProps) {
  const { range, group, rows, prices, budgets, models, liveKeys, member, onChanged } = props
  const { currency } = prices
  const by = `by ${groupWords[group].toLowerCase()}`
  const groupOf = nameGroups(props)
  const isAdmin = member.role === 'admin'
  return (
    <>
      {currency !== null && <BudgetWarnings budgets={budgets} currency={currency} />}
      {rows.length === 0 ? (
        <div class="empty">
          <h2>Nothing in this time</h2>
          <p>
            Make a call as the <Link to="/">quick start</Link> shows, or in the{' '}
            <Link to="/playground">playground</Link>. It appears here within seconds.
          </p>
        </div>
      ) : (
        <>
          <UsageTiles rows={rows} currency={currency} />
          <UsagePlots rows={rows} range={range} by={by} groupOf={groupOf} currency={currency} />
          <UsageTable
            title={`Totals ${by}`}
            of={groupWords[group]}
            rows={rows}
            groupOf={groupOf}
            currency={currency}
          />
        </>
      )}
      {currency !== null && (
        <BudgetCard
          budgets={budgets}
          currency={currency}
          keyNames={liveKeys}
          mayChange={isAdmin}
          onChanged={onChanged}
        />
      )}
      {(currency !== null || (isAdmin && member.operates)) && (
        <PriceCard
          prices={prices}
          models={models}
          mayChange={isAdmin && member.operates}
          onChanged={onChanged}
        />
      )}
    </>
  )
}

/** Names of the chosen groups, as people know them. */
function nameGroups({ group, keyNames, memberNames }: Usage): (row: UsageSum) => string {
  switch (group) {
    case 'model':
      return ({ model = '' }) => model
    case 'key':
      return ({ key_id = '' }) => keyNames.get(key_id) ?? key_id
    case 'member':
      return ({ member_id }) =>
        typeof member_id === 'string'
          ? (memberNames.get(member_id) ?? 'a former member')
          : 'operator'
  }
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
  const [{ rows }, { keys }, { members }, prices, { budgets }, { models }] = await Promise.all([
    callApi<{ rows: readonly UsageSum[] }>('GET', `/usage?${query}`),
    callApi<{ keys: readonly Key[] }>('GET', '/keys'),
    callApi<{ members: readonly Member[] }>('GET', '/members'),
    callApi<Prices>('GET', '/prices'),
    callApi<{ budgets: readonly Budget[] }>('GET', '/budgets'),
    callApi<{ models: readonly ServedModel[] }>('GET', '/models'),
  ])
  return {
    ...{ range, group, rows, prices, budgets },
    models: models.map(({ id }) => id),
    keyNames: new Map(keys.map((key) => [key.id, key.name])),
    liveKeys: new Map(
      keys.filter(({ revoked_at }) => revoked_at === null).map(({ id, name }) => [id, name]),
    ),
    memberNames: new Map(members.map((each) => [each.id, each.name])),
  }
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
