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
    const { stored, known } = await insert(queries, batch)
    const unknown = best.length - known
    // Rows that exist are rare. One that another gateway was just writing is visible by now: the
    // insert waited for it.
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
  await queries.query('select settle_reservations($1::jsonb)', [JSON.stringify(reported)])
}

async function insert(queries: Queries, batch: string): Promise<{ stored: number; known: number }> {
  const [row] = await queries.query<{ stored: number; known: number } & Row>(
    'select stored, known from insert_usage($1::jsonb)',
    [batch],
  )
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
