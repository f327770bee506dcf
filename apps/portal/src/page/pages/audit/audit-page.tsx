/** The audit log, for admins: who did what, to whom, when and from where. */
import type { AuditEntry, Prices } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { describeAction, describeDetails, isWarning } from '../../../words/describe-audit.ts'
import { adminPath, callApi } from '../../api/call-api.ts'
import { useLoad } from '../../load.ts'
import type { PageProps } from '../../page-props.ts'
import { useSubmit } from '../../submit.ts'
import { Badge } from '../../view/badge.tsx'
import { Button } from '../../view/button.tsx'
import { Failure } from '../../view/failure.tsx'
import { Choice } from '../../view/field.tsx'
import { FoldTable } from '../../view/fold-table.tsx'
import { Moment } from '../../view/moment.tsx'
import { PageHead } from '../../view/page-head.tsx'
import { Waiting } from '../../view/waiting.tsx'

type Scope = 'own' | 'all'
type AuditAnswer = { readonly events: readonly AuditEntry[]; readonly next: number | null }

export function AuditPage({ member }: PageProps) {
  const [scope, setScope] = useState<Scope>('own')
  const account = scope === 'own' ? member.account_id : undefined
  const [first, reload] = useLoad(async () => {
    const [page, currency] = await Promise.all([loadPage(account, undefined), loadCurrency()])
    return { account, page, currency }
  }, [account])
  return (
    <>
      <PageHead
        title="Audit log"
        lead="Changes to keys, members and settings, and sign-ins. Entries are kept for 400 days."
      >
        {(['csv', 'json'] as const).map((format) => (
          <a
            key={format}
            class="button plain"
            href={exportUrl(account, format)}
            download={`audit-log.${format}`}
          >
            Export {format.toUpperCase()}
          </a>
        ))}
      </PageHead>
      {member.operates && (
        <div class="filters">
          <Choice
            label="Show"
            value={scope}
            onValue={setScope}
            options={[
              ['own', 'Your account'],
              ['all', 'Whole deployment'],
            ]}
          />
        </div>
      )}
      {first.kind === 'loading' && <Waiting what="the audit log" lines={6} />}
      {first.kind === 'failed' && (
        <Failure error={first.error} what="The audit log could not be loaded" onRetry={reload} />
      )}
      {first.kind === 'ready' && (
        <Entries
          // Until the next page has loaded, this is still the previous account's.
          key={`${first.value.account} ${first.value.page.events[0]?.id}`}
          first={first.value.page}
          account={first.value.account}
          currency={first.value.currency}
        />
      )}
    </>
  )
}

type EntriesProps = {
  readonly first: AuditAnswer
  readonly account: string | undefined
  readonly currency: string | null
}

function Entries({ first, account, currency }: EntriesProps) {
  const [entries, setEntries] = useState(first.events)
  const [next, setNext] = useState(first.next)
  const more = useSubmit(async () => {
    const page = await loadPage(account, next ?? undefined)
    setEntries([...entries, ...page.events])
    setNext(page.next)
  })
  if (entries.length === 0) {
    return (
      <div class="empty">
        <h2>No entries yet</h2>
        <p>Changes and sign-ins appear here as they happen.</p>
      </div>
    )
  }
  return (
    <section class="card" aria-label="Entries">
      <FoldTable columns={['Action', 'By', 'When', 'From']} withActions={false}>
        {entries.map((entry) => (
          <Entry key={entry.id} entry={entry} currency={currency} />
        ))}
      </FoldTable>
      {more.error !== undefined && (
        <Failure error={more.error} what="More entries could not be loaded" />
      )}
      {next !== null && (
        <Button busy={more.busy} onClick={more.submit}>
          Show more
        </Button>
      )}
    </section>
  )
}

type EntryProps = { readonly entry: AuditEntry; readonly currency: string | null }

function Entry({ entry, currency }: EntryProps) {
  const details = describeDetails(entry.details, currency)
  const isSelf = entry.subject_id !== null && entry.subject_id === entry.actor_id
  return (
    <tr data-entry={entry.action}>
      <th scope="row">
        {describeAction(entry.action)}{' '}
        {isWarning(entry.action) && <Badge kind="warn">{countTimes(entry.times)}</Badge>}
        {!isSelf && <p class="soft">{entry.subject_name}</p>}
        {details !== '' && <p class="soft">{details}</p>}
      </th>
      <td data-label="By">{entry.actor_name ?? 'not signed in'}</td>
      <td data-label="When">
        <Moment iso={entry.last_at} />
      </td>
      <td data-label="From">{entry.address ?? '–'}</td>
    </tr>
  )
}

const countTimes = (times: number) => (times === 1 ? 'once' : `${times} times`)

const accountQuery = (account: string | undefined): Record<string, string> =>
  account === undefined ? {} : { account }

function loadPage(account: string | undefined, before: number | undefined): Promise<AuditAnswer> {
  const query = new URLSearchParams(accountQuery(account))
  if (before !== undefined) query.set('before', String(before))
  return callApi<AuditAnswer>('GET', `/audit?${query}`)
}

/** Of all budgets: a deployment has one. */
const loadCurrency = async () => (await callApi<Prices>('GET', '/prices')).currency

const exportUrl = (account: string | undefined, format: string) =>
  `${adminPath}/audit/export?${new URLSearchParams({ ...accountQuery(account), format })}`
