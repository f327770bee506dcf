/** The audit log: actions of admins and members, and failed sign-ins. */
import type { AuditAction } from '@privatemode/protocol/fleet'
import type { Database, Queries, Row } from '../state/database.ts'

/** The subject of an action. */
export type AuditSubject = {
  /** Null if it concerns the whole deployment. */
  readonly accountId: string | null
  readonly id: string | null
  /** Its name at the time. */
  readonly name: string
  /** What changed; never a secret. */
  readonly details?: Readonly<Record<string, unknown>>
}

export type AuditActor = {
  readonly id: string
  readonly name: string
  readonly accountId: string | null
}

export type AuditEvent = {
  readonly id: number
  readonly at: Date
  readonly times: number
  readonly lastAt: Date
  readonly action: AuditAction
  readonly accountId: string | null
  readonly actor: AuditActor | undefined
  readonly subject: AuditSubject
  readonly address: string
}

/** The actor for the admin token. */
export const operatorActor: AuditActor = { id: 'operator', name: 'admin token', accountId: null }

/** Stored instead of an address that the account may not see. */
export const hiddenAddress = ''

const keptDays = 400
/** Unauthenticated users cannot push out admins' entries: theirs have a separate limit. */
const keptStrangers = 10_000
const pruneEvery = 100

/** Runs in the transaction of the change, so that neither exists without the other. */
export async function recordEvent(
  queries: Queries,
  action: AuditAction,
  who: { readonly actor: AuditActor; readonly address: string },
  subject: AuditSubject,
): Promise<void> {
  await insert(queries, action, who.actor, subject, who.address)
}

/** Repetitions within an hour are counted in one entry. */
export async function recordStranger(
  database: Database,
  action: 'sign_in.failed' | 'invitation.refused',
  address: string,
  subject: AuditSubject,
): Promise<void> {
  const repeated = await database.query(
    `update audit_events set times = times + 1, last_at = now() where id = (
       select id from audit_events where actor_id is null and action = $1 and subject_name = $2
         and address = $3 and details = $4::jsonb and account_id is not distinct from $5
         and at > now() - interval '1 hour'
       order by id desc limit 1) returning id`,
    [action, subject.name, address, JSON.stringify(subject.details ?? {}), subject.accountId],
  )
  if (repeated.length === 0) await insert(database, action, undefined, subject, address)
}

async function insert(
  queries: Queries,
  action: AuditAction,
  actor: AuditActor | undefined,
  subject: AuditSubject,
  address: string,
): Promise<void> {
  const [row] = await queries.query<{ id: number } & Row>(
    `insert into audit_events (action, account_id, actor_id, actor_name, actor_account_id,
       subject_id, subject_name, details, address)
     values ($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9) returning id`,
    [
      action,
      subject.accountId,
      actor?.id ?? null,
      actor?.name ?? null,
      actor?.accountId ?? null,
      subject.id,
      subject.name,
      JSON.stringify(subject.details ?? {}),
      address,
    ],
  )
  if ((row?.id ?? 0) % pruneEvery === 0) await pruneEvents(queries)
}

export async function pruneEvents(queries: Queries): Promise<void> {
  await queries.query(
    `delete from audit_events where at < now() - make_interval(days => ${keptDays})`,
  )
  await queries.query(
    `delete from audit_events where actor_id is null and id <= (
       select id from audit_events where actor_id is null order by id desc
       offset ${keptStrangers} limit 1)`,
  )
}

/** The number of changes an actor made within a day. */
export async function countToday(queries: Queries, actorId: string): Promise<number> {
  const [row] = await queries.query<{ count: number } & Row>(
    `select count(*) as count from audit_events
     where actor_id = $1 and at > now() - interval '1 day'`,
    [actorId],
  )
  return row?.count ?? 0
}

export type AuditRange = {
  /** Undefined means every account. */
  readonly accountId: string | undefined
  readonly from: Date | undefined
  readonly to: Date | undefined
}

/** Newest first; `before` is the id of the last entry on the previous page. */
export async function listEvents(
  database: Queries,
  range: AuditRange,
  before: number | undefined,
  limit: number,
): Promise<AuditEvent[]> {
  const account = range.accountId === undefined ? '$1::text is null' : 'account_id = $1'
  const rows = await database.query<EventRow>(
    `select id, at, times, last_at, action, account_id, actor_id, actor_name, actor_account_id,
       subject_id, subject_name, details, address
     from audit_events where ${account} and id < $2
       and ($3::timestamptz is null or last_at >= $3) and ($4::timestamptz is null or at < $4)
     order by id desc limit $5`,
    [
      range.accountId ?? null,
      before ?? Number.MAX_SAFE_INTEGER,
      range.from ?? null,
      range.to ?? null,
      limit,
    ],
  )
  return rows.map(readEvent)
}

type EventRow = Row & {
  id: number
  at: Date
  times: number
  last_at: Date
  action: AuditAction
  account_id: string | null
  actor_id: string | null
  actor_name: string | null
  actor_account_id: string | null
  subject_id: string | null
  subject_name: string
  details: Record<string, unknown>
  address: string
}

function readEvent(row: EventRow): AuditEvent {
  const { actor_id: id, actor_name: name, actor_account_id: accountId } = row
  return {
    id: row.id,
    at: row.at,
    times: row.times,
    lastAt: row.last_at,
    action: row.action,
    accountId: row.account_id,
    actor: id === null ? undefined : { id, name: name ?? '', accountId },
    subject: {
      accountId: row.account_id,
      id: row.subject_id,
      name: row.subject_name,
      details: row.details,
    },
    address: row.address,
  }
}
