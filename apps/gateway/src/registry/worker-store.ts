/** Worker leases in the database, so that every gateway knows every worker. */
import { ApiError, type ModelObject } from '@privatemode/protocol/api'
import type { Database, Queries, Row } from '../state/database.ts'
import type { Registration } from './registration.ts'

/** A worker with a valid lease, as all gateways see it. */
export type LiveWorker = Omit<Registration, 'receiptKey'> & {
  readonly registeredAt: Date
  readonly leaseUntil: Date
}

/** Registers or renews; returns true if an operator has asked this worker to drain. */
export async function renewLease(
  database: Database,
  worker: Registration,
  leaseSeconds: number,
): Promise<boolean> {
  const [row] = await database.query<{ drain_requested: boolean; is_new: boolean }>(
    `with seen as (
       insert into worker_receipt_keys (worker_id, receipt_key) values ($1, $5)
       on conflict do nothing returning 1)
     insert into workers as w
       (id, url, models, seal_key_id, receipt_key, capacity, active, draining, lease_until,
        relay_key)
     values ($1, $2, $3::jsonb, $4, $5, $6, $7, $8, now() + make_interval(secs => $9), $10)
     on conflict (id) do update set
       url = excluded.url, models = excluded.models, seal_key_id = excluded.seal_key_id,
       receipt_key = excluded.receipt_key, capacity = excluded.capacity,
       active = excluded.active, draining = excluded.draining,
       lease_until = excluded.lease_until, relay_key = excluded.relay_key,
       -- A worker that came back after it was away starts afresh: its drain is done.
       registered_at = case when w.lease_until < now() then now() else w.registered_at end,
       drain_requested = w.drain_requested and w.lease_until >= now()
     returning drain_requested, exists (select 1 from seen) as is_new`,
    [
      worker.id,
      worker.url,
      JSON.stringify(worker.models),
      worker.sealKeyId,
      worker.receiptKey,
      worker.capacity,
      worker.active,
      worker.draining,
      leaseSeconds,
      worker.relayKey,
    ],
  )
  if (row?.is_new === true) await forgetDead(database, worker.id)
  return row?.drain_requested === true
}

/** As many as clients read from a directory. */
const maxWorkers = 4_096

/** Throws if an id is new and the limit is reached. */
export async function refuseTooMany(database: Queries, id: string): Promise<void> {
  const [row] = await database.query<{ known: boolean; live: number }>(
    `select exists (select 1 from workers where id = $1) as known,
       (select count(*) from workers where lease_until > now()) as live`,
    [id],
  )
  if (row === undefined || row.known || row.live < maxWorkers) return
  throw new ApiError('overloaded', `there are ${maxWorkers} workers already`, {
    retryAfterSeconds: 60,
  })
}

export async function endLease(database: Queries, id: string): Promise<void> {
  await database.query('delete from workers where id = $1', [id])
}

/** What remains when a worker accepts no more requests. */
export type DrainEffect = {
  /** Machines that still serve. */
  readonly remaining: number
  /** Models served only by this worker. */
  readonly unservedModels: readonly string[]
}

/** The rows are locked: two operators draining two machines concurrently cannot leave none. */
export async function judgeDrain(queries: Queries, id: string): Promise<DrainEffect> {
  const rows = await queries.query<{ id: string; models: ModelObject[]; draining: boolean } & Row>(
    `select id, models, draining or drain_requested as draining from workers
     where lease_until > now() order by id for update`,
  )
  const own = rows.find((row) => row.id === id)
  if (own === undefined) throw new ApiError('not_found', 'there is no such worker')
  const others = rows.filter((row) => row.id !== id && !row.draining)
  const served = new Set(others.flatMap(({ models }) => models.map((model) => model.id)))
  const lost = own.draining ? [] : own.models.filter((model) => !served.has(model.id))
  return { remaining: others.length, unservedModels: lost.map((model) => model.id) }
}

/**
 * Asks a worker to accept no more requests, or again with `wanted` false. Returns false if it is
 * unknown.
 */
export async function requestDrain(
  database: Queries,
  id: string,
  wanted: boolean,
): Promise<boolean> {
  const rows = await database.query(
    'update workers set drain_requested = $2 where id = $1 and lease_until > now() returning id',
    [id, wanted],
  )
  return rows.length === 1
}

export async function listLive(database: Queries): Promise<LiveWorker[]> {
  const rows = await database.query<WorkerRow>(
    `select id, url, models, seal_key_id, relay_key, capacity, active, draining or drain_requested as draining,
       registered_at, lease_until from workers where lease_until > now() and relay_key is not null order by id`,
  )
  return rows.map((row) => ({
    id: row.id,
    url: row.url,
    models: row.models,
    sealKeyId: row.seal_key_id,
    relayKey: row.relay_key,
    capacity: row.capacity,
    active: row.active,
    draining: row.draining,
    registeredAt: row.registered_at,
    leaseUntil: row.lease_until,
  }))
}

/** Whether a worker let its lease expire: one that returned it has left in an orderly way. */
export async function hasLapsed(database: Queries, id: string): Promise<boolean> {
  const rows = await database.query(
    'select 1 from workers where id = $1 and lease_until <= now()',
    [id],
  )
  return rows.length === 1
}

const keysPerWorker = 16
const keptDays = 30
const keptKeys = 100_000

/**
 * Runs when a worker shows a new key. Rows of dead workers are kept for a day. A worker's newest
 * keys are kept, as many as reports are verified with, and those of workers that are gone for a
 * month: reports may be late.
 */
async function forgetDead(database: Queries, workerId: string): Promise<void> {
  await database.query(`delete from workers where lease_until < now() - interval '1 day'`)
  await database.query(
    `delete from worker_receipt_keys where worker_id = $1 and receipt_key not in (
       select receipt_key from worker_receipt_keys where worker_id = $1
       order by first_seen_at desc limit ${keysPerWorker})`,
    [workerId],
  )
  await database.query(
    `delete from worker_receipt_keys k
     where not exists (select 1 from workers w where w.id = k.worker_id)
       and (first_seen_at < now() - make_interval(days => ${keptDays})
         or first_seen_at < (select first_seen_at from worker_receipt_keys
           order by first_seen_at desc offset ${keptKeys} limit 1))`,
  )
}

type WorkerRow = Row & {
  id: string
  url: string
  models: ModelObject[]
  seal_key_id: string
  relay_key: Uint8Array
  capacity: number
  active: number
  draining: boolean
  registered_at: Date
  lease_until: Date
}
