/** The audit log, for admins of an account and for operators of the deployment. */
import { type AuditWire, auditColumns, streamEvents } from '../../audit/audit-csv.ts'
import {
  type AuditEvent,
  type AuditRange,
  auditActions,
  listEvents,
} from '../../audit/audit-log.ts'
import { type Actor, accountOf, insist, mayAdminister, mayOperate, maySee } from '../actor.ts'
import { type AdminRoute, route } from '../admin-route.ts'
import type { Schema } from '../fields.ts'
import { oneOf, optional, text, time, wholeNumber } from '../fields.ts'

const range = {
  account: optional(text(1, 64)),
  from: optional(time()),
  to: optional(time()),
}
const event = { $ref: '#/components/schemas/AuditEvent' }
const list: Schema = { type: 'array', items: event }
const pageRows = 100

export const auditRoutes: readonly AdminRoute[] = [
  route('GET /audit', {
    summary: 'List entries of the audit log, newest first',
    query: {
      ...range,
      limit: optional(wholeNumber(1, 1000)),
      before: optional(wholeNumber(1, Number.MAX_SAFE_INTEGER)),
    },
    answer: {
      type: 'object',
      properties: { events: list, next: { type: ['integer', 'null'] } },
    },
    async handle({ parts, actor, query }) {
      const limit = query.limit ?? pageRows
      const events = await listEvents(parts.database, rangeFor(actor, query), query.before, limit)
      const next = events.length === limit ? events.at(-1)?.id : undefined
      return Response.json({ events: events.map(formatFor(actor)), next: next ?? null })
    },
  }),
  route('GET /audit/export', {
    summary: 'Export the audit log as CSV or JSON',
    query: { ...range, format: optional(oneOf('csv', 'json')) },
    answerType: 'text/csv',
    answer: { type: 'string' },
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

export const auditEventSchema: Schema = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    at: { type: 'string', format: 'date-time' },
    action: { type: 'string', enum: auditActions },
    account_id: { type: ['string', 'null'] },
    actor_id: {
      type: ['string', 'null'],
      description: 'a member, `operator`, or null for an unauthenticated user',
    },
    actor_name: { type: ['string', 'null'] },
    subject_id: { type: ['string', 'null'] },
    subject_name: { type: 'string' },
    details: { type: 'object' },
    address: { type: ['string', 'null'], description: 'null for operators of the deployment' },
    times: { type: 'integer', description: 'how often it happened until `last_at`' },
    last_at: { type: 'string', format: 'date-time' },
  },
  required: auditColumns,
}

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
function formatFor(viewer: Actor): (found: AuditEvent) => AuditWire {
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
      address: isHidden ? null : found.address,
      times: found.times,
      last_at: found.lastAt.toISOString(),
    }
  }
}
