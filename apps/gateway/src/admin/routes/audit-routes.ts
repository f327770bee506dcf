/** The audit log, for admins of an account and for operators of the deployment. */
import { type AuditEntry, adminSchemas } from '@privatemode/protocol/fleet'
import { streamEvents } from '../../audit/audit-csv.ts'
import {
  type AuditEvent,
  type AuditRange,
  hiddenAddress,
  listEvents,
} from '../../audit/audit-log.ts'
import { type Actor, accountOf, insist, mayAdminister, mayOperate, maySee } from '../actor.ts'
import { type AdminRoute, route } from '../admin-route.ts'
import { oneOf, optional, text, time, wholeNumber } from '../fields.ts'

const range = {
  account: optional(text(1, 64)),
  from: optional(time()),
  to: optional(time()),
}
const pageRows = 100

export const auditRoutes: readonly AdminRoute[] = [
  route('GET /audit', {
    summary: 'List entries of the audit log, newest first',
    query: {
      ...range,
      limit: optional(wholeNumber(1, 1000)),
      before: optional(wholeNumber(1, Number.MAX_SAFE_INTEGER)),
    },
    answer: adminSchemas.AuditPage,
    async handle({ parts, actor, query }) {
      const limit = query.limit ?? pageRows
      const events = await listEvents(parts.database, rangeFor(actor, query), query.before, limit)
      const next = events.length === limit ? events.at(-1)?.id : undefined
      return { events: events.map(formatFor(actor)), next: next ?? null }
    },
  }),
  route('GET /audit/export', {
    summary: 'Export the audit log as CSV or JSON',
    query: { ...range, format: optional(oneOf('csv', 'json')) },
    answerType: 'text/csv',
    async handle({ parts, actor, query }) {
      const kind = query.format ?? 'csv'
      const stream = streamEvents(parts.database, rangeFor(actor, query), kind, formatFor(actor))
      return new Response(stream, {
        headers: {
          'content-type': kind === 'csv' ? 'text/csv; charset=utf-8' : 'application/json',
          'content-disposition': `attachment; filename="audit-log.${kind}"`,
        },
      })
    },
  }),
]

type RangeQuery = {
  readonly account: string | undefined
  readonly from: Date | undefined
  readonly to: Date | undefined
}

function rangeFor(actor: Actor, query: RangeQuery): AuditRange {
  const { from, to } = query
  if (mayOperate(actor) && query.account === undefined) return { accountId: undefined, from, to }
  const accountId = accountOf(actor, query.account)
  insist(mayAdminister(actor, accountId), maySee(actor, accountId))
  return { accountId, from, to }
}

/** The identity and address of operators are hidden from the accounts. */
function formatFor(viewer: Actor): (found: AuditEvent) => AuditEntry {
  const seesOperators = mayOperate(viewer)
  return (found) => {
    const { actor, subject } = found
    const isForeign = actor !== undefined && actor.accountId !== found.accountId
    const isHidden = isForeign && !seesOperators
    return {
      id: found.id,
      at: found.at.toISOString(),
      action: found.action,
      account_id: found.accountId,
      actor_id: isHidden ? 'operator' : (actor?.id ?? null),
      actor_name: isHidden ? 'operator' : (actor?.name ?? null),
      subject_id: subject.id,
      subject_name: subject.name,
      details: subject.details ?? {},
      address: isHidden || found.address === hiddenAddress ? null : found.address,
      times: found.times,
      last_at: found.lastAt.toISOString(),
    }
  }
}
