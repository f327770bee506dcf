/** Writes metered requests: each exactly once, with all sums, in one transaction. */
import type { Database, Queries, Row } from '../state/database.ts'
import type { UsageRecord } from './usage-record.ts'

export type Stored = {
  /** Rows that are new or replaced a lesser report. */
  readonly stored: number
  /** Records with an unknown key. */
  readonly unknown: number
}

/**
 * Stores a batch, one row per admission. An existing row is kept, unless the new report has more
 * tokens, or as many and a better outcome: a worker's report replaces `lost`, a complete answer an
 * aborted attempt elsewhere. So no later report ever lowers a bill.
 */
export async function storeUsage(
  database: Database,
  records: readonly UsageRecord[],
): Promise<Stored> {
  if (records.length === 0) return { stored: 0, unknown: 0 }
  const best = bestOfEach(records)
  const batch = JSON.stringify(best.map(toWire))
  return database.transaction(async (queries) => {
    await removeLesser(queries, batch)
    const { stored, known } = await insert(queries, batch)
    const unknown = best.length - known
    // Another gateway may have been writing a lesser report, invisible to us before: the insert waited
    // for it and yielded. It is visible now.
    const beaten = stored < known && (await removeLesser(queries, batch))
    const again = beaten ? (await insert(queries, batch)).stored : 0
    await settle(queries, records)
    return { stored: stored + again, unknown }
  })
}

/**
 * The tokens reserved for these requests are used now: both change in one transaction. If a second
 * worker took over, the first one's report does not end the reservation.
 */
async function settle(queries: Queries, records: readonly UsageRecord[]): Promise<void> {
  const reported = records.map(({ admissionId, workerId }) => ({
    ...{ admission_id: admissionId, worker_id: workerId },
  }))
  await queries.query(
    `delete from token_reservations t
     using jsonb_to_recordset($1::jsonb) as r(admission_id uuid, worker_id text)
     where t.admission_id = r.admission_id
       and (t.worker_id is null or t.worker_id = r.worker_id)`,
    [JSON.stringify(reported)],
  )
}

async function insert(queries: Queries, batch: string): Promise<{ stored: number; known: number }> {
  const [row] = await queries.query<{ stored: number; known: number } & Row>(insertSql, [batch])
  return row ?? { stored: 0, known: 0 }
}

/** Keeps the greater of two reports about one admission in a batch; rows are locked in one order. */
function bestOfEach(records: readonly UsageRecord[]): UsageRecord[] {
  const best = new Map<string, UsageRecord>()
  for (const record of records) {
    const other = best.get(record.admissionId)
    if (other === undefined || isLess(other, record)) best.set(record.admissionId, record)
  }
  return [...best.values()].toSorted((a, b) => (a.admissionId < b.admissionId ? -1 : 1))
}

const ranks = { complete: 4, aborted: 3, failed: 2, lost: 1 } as const

/** The same order as `isLessSql`. */
function isLess(one: UsageRecord, other: UsageRecord): boolean {
  const more = other.promptTokens + other.completionTokens - one.promptTokens - one.completionTokens
  return more > 0 || (more === 0 && ranks[one.outcome] < ranks[other.outcome])
}

/** Whether the row `u` counts for less than the report `r`: compared by tokens, then by outcome. */
const isLessSql = `
(u.prompt_tokens::bigint + u.completion_tokens, outcome_rank(u.outcome)) <
(r.prompt_tokens::bigint + r.completion_tokens, outcome_rank(r.outcome))`

function toWire(record: UsageRecord): Record<string, string | number> {
  return {
    admission_id: record.admissionId,
    request_id: record.requestId,
    started_at: new Date(record.startedAtMs).toISOString(),
    key_id: record.keyId,
    worker_id: record.workerId,
    model: record.model,
    path: record.path,
    outcome: record.outcome,
    status: record.status,
    prompt_tokens: record.promptTokens,
    cached_tokens: record.cachedTokens,
    completion_tokens: record.completionTokens,
    duration_ms: record.durationMs,
  }
}

const incoming = `jsonb_to_recordset($1::jsonb) as r(
  admission_id uuid, request_id uuid, started_at timestamptz, key_id text, worker_id text, model text, path text,
  outcome text, status smallint, prompt_tokens integer, cached_tokens integer,
  completion_tokens integer, duration_ms integer)`

/** Sums of rows in the CTE `changed`, added to the hourly and monthly tables with a sign. */
const addSums = (sign: 1 | -1) => `
hourly as (
  insert into usage_hourly as h
  select account_id, date_trunc('hour', started_at, 'UTC'), key_id, model, path, outcome,
    ${sign} * count(*), ${sign} * sum(prompt_tokens), ${sign} * sum(cached_tokens),
    ${sign} * sum(completion_tokens), ${sign} * sum(duration_ms::bigint),
    ${[300, 1000, 3000, 10_000, 30_000, 100_000]
      .map((ms) => `${sign} * count(*) filter (where duration_ms <= ${ms})`)
      .join(', ')}, ${sign} * sum(cost_micros)
  from changed group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
  on conflict (account_id, hour, key_id, model, path, outcome) do update set
    requests = h.requests + excluded.requests,
    prompt_tokens = h.prompt_tokens + excluded.prompt_tokens,
    cached_tokens = h.cached_tokens + excluded.cached_tokens,
    completion_tokens = h.completion_tokens + excluded.completion_tokens,
    duration_ms = h.duration_ms + excluded.duration_ms,
    up_to_300_ms = h.up_to_300_ms + excluded.up_to_300_ms,
    up_to_1_s = h.up_to_1_s + excluded.up_to_1_s,
    up_to_3_s = h.up_to_3_s + excluded.up_to_3_s,
    up_to_10_s = h.up_to_10_s + excluded.up_to_10_s,
    up_to_30_s = h.up_to_30_s + excluded.up_to_30_s,
    up_to_100_s = h.up_to_100_s + excluded.up_to_100_s,
    cost_micros = h.cost_micros + excluded.cost_micros),
monthly as (
  insert into usage_monthly as m
  select subject, month, ${sign} * sum(tokens), max(tokens), ${sign} * sum(cost_micros) from (
    select unnest(array[account_id, key_id,
        (select created_by from api_keys where id = key_id)]) as subject,
      date_trunc('month', started_at at time zone 'UTC')::date as month,
      prompt_tokens::bigint + completion_tokens as tokens, cost_micros
    from changed) as each_subject
  where subject is not null group by 1, 2 order by 1, 2
  on conflict (subject, month) do update set
    tokens = m.tokens + excluded.tokens, largest = greatest(m.largest, excluded.largest),
    cost_micros = m.cost_micros + excluded.cost_micros)`

/** Removes rows, with their sums, that a better report in the batch will replace; false if none. */
async function removeLesser(queries: Queries, batch: string): Promise<boolean> {
  const lesser = await queries.query(
    `select 1 from usage u join ${incoming} on r.admission_id = u.admission_id
     where ${isLessSql} limit 1`,
    [batch],
  )
  if (lesser.length === 0) return false
  await queries.query(
    `with changed as (
       delete from usage u using ${incoming}
       where u.admission_id = r.admission_id and ${isLessSql}
       returning u.*), ${addSums(-1)}
     select 1`,
    [batch],
  )
  return true
}

const insertSql = `
with known as (
  select r.*, k.account_id from ${incoming} join api_keys k on k.id = r.key_id),
changed as (
  insert into usage (admission_id, request_id, started_at, account_id, key_id, worker_id, model, path,
    outcome, status, prompt_tokens, cached_tokens, completion_tokens, duration_ms, cost_micros)
  select admission_id, request_id, started_at, account_id, key_id, worker_id, model, path, outcome, status,
    prompt_tokens, cached_tokens, completion_tokens, duration_ms,
    request_cost(model, started_at, prompt_tokens, cached_tokens, completion_tokens)
  from known order by admission_id
  on conflict (admission_id) do nothing returning *), ${addSums(1)},
-- Tokens count against a limit per minute from when they are known; old news does not.
charged as (
  select adjust_allowance(subject, 'tokens', null, tokens) from (
    select subject, sum(tokens)::bigint as tokens from (
      select unnest(array[
          case when k.tokens_per_minute is not null then c.key_id end,
          case when a.tokens_per_minute is not null then c.account_id end,
          case when a.member_tokens_per_minute is not null then k.created_by end]) as subject,
        c.prompt_tokens::bigint + c.completion_tokens as tokens
      from changed c join api_keys k on k.id = c.key_id join accounts a on a.id = c.account_id
      where c.started_at + make_interval(secs => c.duration_ms / 1000.0) > now() - interval '2 minutes'
    ) as each_subject
    where subject is not null group by subject order by subject) as sums)
select (select count(*) from changed) as stored, (select count(*) from known) as known,
  (select count(*) from charged) as charged`
