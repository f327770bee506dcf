/** Reads usage: sums from the hourly table, single requests from the rows. */
import { ApiError } from '@privatemode/protocol/api'
import type { BilledRequest, UsageSum } from '@privatemode/protocol/fleet'
import type { Queries, Row } from '../state/database.ts'

export type UsageRange = {
  /** Undefined means every account. */
  readonly accountId: string | undefined
  readonly keyId: string | undefined
  readonly from: Date
  readonly to: Date
}

export type UsageStep = 'hour' | 'day' | 'month' | 'all'
export type UsageGroup = 'key' | 'member' | 'model' | 'path' | 'outcome' | 'account'

const groupColumns = {
  key: 'key_id',
  // Null for keys that the operator or its staff made.
  member: `(select m.id from api_keys k join members m
    on m.id = k.created_by and m.account_id = k.account_id where k.id = key_id) as member_id`,
  model: 'model',
  path: 'path',
  outcome: 'outcome',
  account: 'account_id',
} as const

const maxRows = 20_000

export type UsageSumRow = Row & Omit<UsageSum, 'time'> & { readonly time: Date | null }

/** One row per step and group, or an error if there are too many; `from` and `to` are rounded to hours. */
export async function sumUsage(
  database: Queries,
  range: UsageRange,
  step: UsageStep,
  groups: readonly UsageGroup[],
): Promise<UsageSumRow[]> {
  // Column names come from the tables above, never from a caller.
  const names = groups.map((group) => groupColumns[group])
  const time = step === 'all' ? 'null::timestamptz' : `date_trunc('${step}', hour, 'UTC')`
  const keys = [time, ...names].map((_, index) => index + 1).join(', ')
  const rows = await database.query<UsageSumRow>(
    `select ${[`${time} as time`, ...names].join(', ')},
       sum(requests) as requests, sum(prompt_tokens) as prompt_tokens,
       sum(cached_tokens) as cached_tokens, sum(completion_tokens) as completion_tokens,
       sum(duration_ms) as duration_ms, sum(up_to_300_ms) as up_to_300_ms,
       sum(up_to_1_s) as up_to_1_s, sum(up_to_3_s) as up_to_3_s, sum(up_to_10_s) as up_to_10_s,
       sum(up_to_30_s) as up_to_30_s, sum(up_to_100_s) as up_to_100_s,
       sum(cost_micros) as cost_micros
     from usage_hourly
     where ${whereRange('hour', range)}
     group by ${keys} having sum(requests) <> 0 order by ${keys} limit ${maxRows + 1}`,
    rangeValues(range),
  )
  // A truncated sum would look like less usage.
  if (rows.length > maxRows) {
    const message = `this has more than ${maxRows} rows; choose a shorter time range, longer steps or fewer groups`
    throw new ApiError('invalid_value', message)
  }
  return rows
}

/** A billed request as the database has it. */
export type UsageRow = Row & Omit<BilledRequest, 'started_at'> & { readonly started_at: Date }

/** Where the next page begins: after the last row of this one. */
export type UsageCursor = { readonly startedAt: Date; readonly admissionId: string }

export const usageColumns = [
  'request_id',
  'started_at',
  'account_id',
  'key_id',
  'worker_id',
  'model',
  'path',
  'outcome',
  'status',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
  'duration_ms',
  'cost_micros',
  'admission_id',
] as const

export type UsageOrder = 'oldest' | 'newest'

const orders = {
  oldest: { compare: '>', direction: 'asc', firstId: '00000000-0000-0000-0000-000000000000' },
  newest: { compare: '<', direction: 'desc', firstId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' },
} as const

/** Single requests, the oldest or the newest first; every page costs the same. */
export async function listRequests(
  database: Queries,
  range: UsageRange,
  after: UsageCursor | undefined,
  limit: number,
  order: UsageOrder = 'oldest',
): Promise<UsageRow[]> {
  const { compare, direction, firstId } = orders[order]
  const columns = usageColumns.filter((name) => name !== 'request_id' && name !== 'admission_id')
  return database.query<UsageRow>(
    `select replace(coalesce(request_id, admission_id)::text, '-', '') as request_id,
       replace(admission_id::text, '-', '') as admission_id, ${columns.join(', ')}
     from usage
     where ${whereRows(range)}
       and (started_at, admission_id) ${compare} ($5, $6::uuid)
     order by started_at ${direction}, usage.admission_id ${direction} limit $7`,
    [
      ...rangeValues(range),
      after?.startedAt ?? (order === 'oldest' ? range.from : range.to),
      after?.admissionId ?? firstId,
      limit,
    ],
  )
}

/** Compares only the columns that were asked for, so that each query can use its index. */
function whereRange(column: 'hour' | 'started_at', range: UsageRange): string {
  const account = range.accountId === undefined ? '$1::text is null' : 'account_id = $1'
  const key = range.keyId === undefined ? '$2::text is null' : 'key_id = $2'
  return `${account} and ${key} and ${column} >= $3 and ${column} < $4`
}

/**
 * A key belongs to one account for good, so that is checked once. If both columns were compared in
 * every row, the planner would treat them as independent, expect next to no rows, and sort all of
 * the key's rows for each page.
 */
function whereRows(range: UsageRange): string {
  if (range.accountId === undefined || range.keyId === undefined) {
    return whereRange('started_at', range)
  }
  const ofAccount = '(select account_id from api_keys where id = $2) = $1'
  return `${ofAccount} and key_id = $2 and started_at >= $3 and started_at < $4`
}

function rangeValues(range: UsageRange): unknown[] {
  return [range.accountId ?? null, range.keyId ?? null, range.from, range.to]
}
