/** Usage: sums for charts, single requests, CSV. */
import { ApiError } from '@privatemode/protocol/api'
import { adminSchemas, type BilledRequest, type UsageSum } from '@privatemode/protocol/fleet'
import { streamUsage } from '../../metering/usage-csv.ts'
import {
  listRequests,
  sumUsage,
  type UsageGroup,
  type UsageRange,
  type UsageRow,
  type UsageSumRow,
} from '../../metering/usage-query.ts'
import { type Actor, accountOf, insist, mayOperate, maySee } from '../actor.ts'
import { type AdminRoute, route } from '../admin-route.ts'
import { oneOf, optional, text, time, wholeNumber } from '../fields.ts'

const range = {
  from: time(),
  to: time(),
  account: optional(text(1, 64)),
  key: optional(text(1, 64)),
}
const groups: readonly UsageGroup[] = ['key', 'member', 'model', 'path', 'outcome', 'account']

export const usageRoutes: readonly AdminRoute[] = [
  route('GET /usage', {
    summary: 'Sum usage by time and by key, member, model, path, outcome or account',
    query: {
      ...range,
      step: optional(oneOf('hour', 'day', 'month', 'all')),
      by: optional(text(0, 64)),
    },
    answer: adminSchemas.UsageSums,
    async handle({ parts, actor, query }) {
      const asked = (query.by ?? '').split(',').filter((name) => name !== '')
      const by = groups.filter((group) => asked.includes(group))
      if (by.length !== asked.length) {
        const message = `by must be a list of ${groups.join(', ')}`
        throw new ApiError('invalid_value', message, { param: 'by' })
      }
      const step = query.step ?? 'day'
      const rows = await sumUsage(parts.database, rangeFor(actor, query), step, by)
      return { rows: rows.map(formatSum) }
    },
  }),
  route('GET /usage/requests', {
    summary: 'List single requests, by default in chronological order',
    query: {
      ...range,
      limit: optional(wholeNumber(1, 1000)),
      after: optional(text(1, 128)),
      order: optional(oneOf('oldest', 'newest')),
    },
    answer: adminSchemas.UsagePage,
    async handle({ parts, actor, query }) {
      const limit = query.limit ?? 100
      const cursor = query.after === undefined ? undefined : parseCursor(query.after)
      const asked = rangeFor(actor, query)
      const requests = await listRequests(parts.database, asked, cursor, limit, query.order)
      const last = requests.length === limit ? requests.at(-1) : undefined
      const next = last && `${last.started_at.toISOString()}_${last.admission_id}`
      return { requests: requests.map(formatRequest), next: next ?? null }
    },
  }),
  route('GET /usage/export.csv', {
    summary: 'Export single requests as CSV',
    query: range,
    answerType: 'text/csv',
    async handle({ parts, actor, query }) {
      return new Response(streamUsage(parts.database, rangeFor(actor, query)), {
        headers: {
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': 'attachment; filename="usage.csv"',
        },
      })
    },
  }),
]

function formatSum(row: UsageSumRow): UsageSum {
  return { ...row, time: row.time?.toISOString() ?? null }
}

function formatRequest(row: UsageRow): BilledRequest {
  return { ...row, started_at: row.started_at.toISOString() }
}

type RangeQuery = {
  readonly from: Date
  readonly to: Date
  readonly account: string | undefined
  readonly key: string | undefined
}

function rangeFor(actor: Actor, query: RangeQuery): UsageRange {
  const everyone = mayOperate(actor) && query.account === undefined
  const accountId = everyone ? undefined : accountOf(actor, query.account)
  if (accountId !== undefined) insist(maySee(actor, accountId), false)
  return { accountId, keyId: query.key, from: query.from, to: query.to }
}

function parseCursor(value: string): { startedAt: Date; admissionId: string } {
  const [time = '', admissionId = ''] = value.split('_')
  const startedAt = new Date(time)
  if (!Number.isNaN(startedAt.getTime()) && /^[0-9a-f]{32}$/.test(admissionId)) {
    return { startedAt, admissionId }
  }
  throw new ApiError('invalid_value', 'after must be a next cursor from an earlier page', {
    param: 'after',
  })
}
