/** Single requests: when, by which key, at what cost. No content: the gateway never had any. */
import type { BilledRequest, Key, Prices } from '@privatemode/protocol/fleet'
import { useState } from 'preact/hooks'
import { auditReceipts, type ReceiptAudit } from '../../../audit/audit-receipts.ts'
import { formatMoney } from '../../../usage/money.ts'
import {
  type NewestRequests,
  type RequestPage,
  readNewest,
} from '../../../usage/newest-requests.ts'
import { formatCount, formatDuration } from '../../../words/format-time.ts'
import { callApi } from '../../api/call-api.ts'
import { useLoad } from '../../load.ts'
import type { PageProps } from '../../page-props.ts'
import { Badge } from '../../view/badge.tsx'
import { Failure } from '../../view/failure.tsx'
import { Choice } from '../../view/field.tsx'
import { FoldTable } from '../../view/fold-table.tsx'
import { Moment } from '../../view/moment.tsx'
import { Notice } from '../../view/notice.tsx'
import { PageHead } from '../../view/page-head.tsx'
import { Waiting } from '../../view/waiting.tsx'
import { BillAudit } from './bill-audit.tsx'

const hours = { day: 24, week: 168, month: 720 } as const
type Range = keyof typeof hours

/** Only the newest are shown; the export on the usage page has all of them. */
const shownRequests = 200
const pageSize = 1000
const maxPages = 20

export function RequestsPage({ member }: PageProps) {
  const [range, setRange] = useState<Range>('day')
  const [keyId, setKeyId] = useState('')
  const [model, setModel] = useState('')
  const [outcome, setOutcome] = useState('')
  const [audit, setAudit] = useState<ReceiptAudit>()
  const [loaded, reload] = useLoad(() => loadRequests(range, member.account_id), [range])
  const rows = loaded.kind === 'ready' ? loaded.value.requests : []
  const keyNames = loaded.kind === 'ready' ? loaded.value.keyNames : new Map<string, string>()
  const currency = loaded.kind === 'ready' ? loaded.value.currency : null
  const chosen = rows.filter(
    (row) =>
      (keyId === '' || row.key_id === keyId) &&
      (model === '' || row.model === model) &&
      (outcome === '' || row.outcome === outcome),
  )
  const optionsOf = (values: readonly string[], name: (value: string) => string) =>
    [...new Set(values)].map((value) => [value, name(value)] as const)
  return (
    <>
      <PageHead
        title="Requests"
        lead="Every request that was billed. There is no content here, because the gateway never had any."
      />
      <div class="filters">
        <Choice
          label="Time"
          value={range}
          onValue={setRange}
          options={[
            ['day', 'Last 24 hours'],
            ['week', 'Last 7 days'],
            ['month', 'Last 30 days'],
          ]}
        />
        <Choice
          label="API key"
          value={keyId}
          onValue={setKeyId}
          options={[
            ['', 'All keys'],
            ...optionsOf(
              rows.map((row) => row.key_id),
              (id) => keyNames.get(id) ?? id,
            ),
          ]}
        />
        <Choice
          label="Model"
          value={model}
          onValue={setModel}
          options={[
            ['', 'All models'],
            ...optionsOf(
              rows.map((row) => row.model),
              (id) => id,
            ),
          ]}
        />
        <Choice
          label="Outcome"
          value={outcome}
          onValue={setOutcome}
          options={[
            ['', 'All'],
            ['complete', 'Complete'],
            ['aborted', 'Stopped by the client'],
            ['failed', 'Failed'],
            ['lost', 'Lost'],
          ]}
        />
      </div>
      {loaded.kind === 'loading' && <Waiting what="requests" lines={6} />}
      {loaded.kind === 'failed' && (
        <Failure error={loaded.error} what="The requests could not be loaded" onRetry={reload} />
      )}
      {loaded.kind === 'ready' && loaded.value.isCut && (
        <Notice
          kind="warn"
          title={`Only the newest ${formatCount(rows.length)} requests are here.`}
        >
          <p>Older ones of this time range are in the export on the usage page.</p>
        </Notice>
      )}
      {loaded.kind === 'ready' && chosen.length === 0 && (
        <div class="empty">
          <h2>No requests</h2>
          <p>Nothing was billed that fits these filters.</p>
        </div>
      )}
      {chosen.length > 0 && (
        <Requests rows={chosen} keyNames={keyNames} currency={currency} audit={audit} />
      )}
      {loaded.kind === 'ready' && rows.length > 0 && (
        <BillAudit audit={audit} onReceipts={(text) => setAudit(auditReceipts(text, rows))} />
      )}
    </>
  )
}

type RequestsProps = {
  readonly rows: readonly BilledRequest[]
  readonly keyNames: ReadonlyMap<string, string>
  /** Null where nothing has a price. */
  readonly currency: string | null
  readonly audit: ReceiptAudit | undefined
}

function Requests({ rows, keyNames, currency, audit }: RequestsProps) {
  const cost = currency === null ? [] : ['Cost']
  const columns = ['Time', 'Key', 'Model', 'Tokens', ...cost, 'Status', 'Duration', 'Receipt']
  return (
    <section class="card" aria-label="Billed requests">
      <FoldTable columns={columns} withActions={false}>
        {rows.slice(0, shownRequests).map((row) => (
          <tr key={row.admission_id}>
            <td data-label="Time">
              <Moment iso={row.started_at} />
            </td>
            <td data-label="Key">{keyNames.get(row.key_id) ?? row.key_id}</td>
            <td data-label="Model">{row.model}</td>
            <td data-label="Tokens" class="number">
              {formatCount(row.prompt_tokens)} + {formatCount(row.completion_tokens)}
            </td>
            {currency !== null && (
              <td data-label="Cost" class="number">
                {formatMoney(row.cost_micros, currency)}
              </td>
            )}
            <td data-label="Status">
              <Status row={row} />
            </td>
            <td data-label="Duration" class="number">
              {formatDuration(row.duration_ms)}
            </td>
            <td data-label="Receipt">
              <ReceiptState row={row} audit={audit} />
            </td>
          </tr>
        ))}
      </FoldTable>
      {rows.length > shownRequests && (
        <p class="soft">
          The newest {shownRequests} of {formatCount(rows.length)}. The export on the usage page has
          all of them.
        </p>
      )}
    </section>
  )
}

const outcomes = {
  complete: ['good', 'complete'],
  aborted: ['plain', 'stopped'],
  failed: ['bad', 'failed'],
  lost: ['warn', 'lost'],
} as const

function Status({ row }: { readonly row: BilledRequest }) {
  const [kind, word] = outcomes[row.outcome]
  return (
    <div class="together">
      <Badge kind={kind}>{word}</Badge> {row.status}
    </div>
  )
}

type ReceiptStateProps = Pick<RequestsProps, 'audit'> & { readonly row: BilledRequest }

function ReceiptState({ row, audit }: ReceiptStateProps) {
  if (audit === undefined) {
    return (
      <span class="soft">
        {row.outcome === 'lost' ? 'never reported' : 'reported by the machine'}
      </span>
    )
  }
  const found = audit.byAdmission.get(row.admission_id)
  if (found === undefined) return <span class="soft">not in your file</span>
  return found.length === 0 ? (
    <Badge kind="good">as signed</Badge>
  ) : (
    <Badge kind="bad">{found.join('; ')}</Badge>
  )
}

type LoadedRequests = NewestRequests & {
  readonly keyNames: ReadonlyMap<string, string>
  readonly currency: string | null
}

/** Newest first. */
async function loadRequests(range: Range, account: string): Promise<LoadedRequests> {
  const to = new Date()
  const from = new Date(to.getTime() - hours[range] * 3_600_000)
  const { requests, isCut } = await readNewest(maxPages, (after) => {
    const query = new URLSearchParams({
      ...{ from: from.toISOString(), to: to.toISOString(), account, limit: String(pageSize) },
      ...{ order: 'newest', ...(after === null ? {} : { after }) },
    })
    return callApi<RequestPage>('GET', `/usage/requests?${query}`)
  })
  const [{ keys }, { currency }] = await Promise.all([
    callApi<{ keys: readonly Key[] }>('GET', '/keys'),
    callApi<Prices>('GET', '/prices'),
  ])
  const keyNames = new Map(keys.map((key) => [key.id, key.name]))
  return { requests, isCut, keyNames, currency }
}
