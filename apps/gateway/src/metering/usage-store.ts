/** Writes metered requests: each exactly once, together with all sums. */
import {
  integerArray,
  smallintArray,
  textArray,
  timeArray,
  uuidArray,
} from '../state/binary-array.ts'
import type { Database, Queries, Row } from '../state/database.ts'
import type { UsageRecord } from './usage-record.ts'

export type Stored = {
  /** Rows that are new or replaced a lesser report. */
  readonly stored: number
  /** Records with an unknown key. */
  readonly unknown: number
}

type Booked = { readonly stored: number; readonly known: number }

/**
 * Stores a batch, one row per admission. An existing row is kept, unless the new report has more
 * tokens, or as many and a better outcome: a worker's report replaces `lost`, a complete answer an
 * aborted attempt elsewhere. So no later report ever lowers a bill.
 *
 * Nearly always, no row exists yet and one statement does it all. It is a transaction, and so is
 * what follows if rows exist: a batch that is cut off between the two is reported again.
 */
export async function storeUsage(
  database: Database,
  records: readonly UsageRecord[],
): Promise<Stored> {
  if (records.length === 0) return { stored: 0, unknown: 0 }
  const best = bestOfEach(records)
  const { stored, known } = await book(database, best)
  const unknown = best.length - known
  if (stored === known && best.length === records.length) return { stored, unknown }
  return { stored: stored + (await replace(database, records, best)), unknown }
}

/** Reports about admissions that are not stored yet; no other row changes. */
async function book(queries: Queries, best: readonly UsageRecord[]): Promise<Booked> {
  const [row] = await queries.query<Booked & Row>(
    `select stored, known from book_usage($1::uuid[], $2::uuid[], $3::timestamptz[], $4::text[], $5::text[],
       $6::text[], $7::text[], $8::text[], $9::smallint[], $10::integer[], $11::integer[], $12::integer[], $13::integer[])`,
    [
      uuidArray(best.map(({ admissionId }) => admissionId)),
      uuidArray(best.map(({ requestId }) => requestId)),
      timeArray(best.map(({ startedAtMs }) => startedAtMs)),
      textArray(best.map(({ keyId }) => keyId)),
      textArray(best.map(({ workerId }) => workerId)),
      textArray(best.map(({ model }) => model)),
      textArray(best.map(({ path }) => path)),
      textArray(best.map(({ outcome }) => outcome)),
      smallintArray(best.map(({ status }) => status)),
      integerArray(best.map(({ promptTokens }) => promptTokens)),
      integerArray(best.map(({ cachedTokens }) => cachedTokens)),
      integerArray(best.map(({ completionTokens }) => completionTokens)),
      integerArray(best.map(({ durationMs }) => durationMs)),
    ],
  )
  return row ?? { stored: 0, known: 0 }
}

/**
 * Replaces lesser rows; returns how many. A row that another gateway was just writing is visible by
 * now: booking waited for it.
 */
async function replace(
  database: Database,
  records: readonly UsageRecord[],
  best: readonly UsageRecord[],
): Promise<number> {
  const batch = JSON.stringify(best.map(toWire))
  return database.transaction(async (queries) => {
    const stored = (await removeLesser(queries, batch)) ? await insert(queries, batch) : 0
    await settle(queries, records)
    return stored
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
  await queries.query('select settle_reservations($1::jsonb)', [JSON.stringify(reported)])
}

async function insert(queries: Queries, batch: string): Promise<number> {
  const [row] = await queries.query<{ stored: number } & Row>(
    'select stored from insert_usage($1::jsonb)',
    [batch],
  )
  return row?.stored ?? 0
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

/** The same order as in `remove_lesser_usage`. */
function isLess(one: UsageRecord, other: UsageRecord): boolean {
  const more = other.promptTokens + other.completionTokens - one.promptTokens - one.completionTokens
  return more > 0 || (more === 0 && ranks[one.outcome] < ranks[other.outcome])
}

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

/** Removes rows, with their sums, that a better report in the batch will replace; false if none. */
async function removeLesser(queries: Queries, batch: string): Promise<boolean> {
  const [row] = await queries.query<{ removed: boolean } & Row>(
    'select remove_lesser_usage($1::jsonb) as removed',
    [batch],
  )
  return row?.removed === true
}
