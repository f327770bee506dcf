/** API keys in the database: create, list, rotate, revoke. */
import { ApiError } from '@privatemode/protocol/api'
import type { Queries, Row } from '../state/database.ts'
import { issueApiKey, newId } from './api-key.ts'
import { formatLimits, type Limits, type LimitsWire, limitColumns, readLimits } from './limits.ts'

/** A key as its owner sees it: never the secret, never the hash. */
export type ApiKey = {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly prefix: string
  /** The member who created it; null for the operator and its staff. */
  readonly createdBy: string | null
  readonly createdAt: Date
  readonly rotatedAt: Date | null
  readonly expiresAt: Date | null
  /** The expiry set by an admin; null if none was set. */
  readonly latestExpiry: Date | null
  readonly revokedAt: Date | null
  readonly lastUsedAt: Date | null
  readonly limits: Limits
}

export type NewKeyWish = {
  readonly accountId: string
  readonly name: string
  readonly expiresAt: Date | null
  readonly limits: Limits
  readonly createdBy?: string | null
  /** An admin sets the expiry: a member cannot extend it. */
  readonly isExpiryFixed?: boolean
}

/** A key with its secret, which is shown only this once. */
export type IssuedKey = { readonly key: ApiKey; readonly secret: string }

// Staff of the operator who create a key in another account stay unknown there.
const createdBy = `(select m.id from members m
  where m.id = api_keys.created_by and m.account_id = api_keys.account_id) as created_by`

const columns = `id, account_id, name, prefix, ${createdBy}, created_at, rotated_at, expires_at, latest_expiry, revoked_at, last_used_at, ${limitColumns}`

export async function createKey(database: Queries, wish: NewKeyWish): Promise<IssuedKey> {
  if (wish.expiresAt !== null && wish.expiresAt.getTime() <= Date.now()) {
    const message = 'expires_at must be in the future'
    throw new ApiError('invalid_value', message, { param: 'expires_at' })
  }
  const { secret, prefix, hash } = issueApiKey()
  const wire = formatLimits(wish.limits)
  const [row] = await database.query<KeyRow>(
    `insert into api_keys (id, account_id, name, prefix, hash, expires_at, ${limitColumns}, created_by, latest_expiry)
     select $1, a.id, $3, $4, $5, $6, $7, $8, $9, $10, $11, case when $12 then $6::timestamptz end from accounts a where a.id = $2
     returning ${columns}`,
    [
      newId('key'),
      wish.accountId,
      wish.name,
      prefix,
      hash,
      wish.expiresAt,
      wire.requests_per_minute,
      wire.tokens_per_minute,
      wire.tokens_per_month,
      wire.concurrent_streams,
      wish.createdBy ?? null,
      wish.isExpiryFixed === true,
    ],
  )
  if (row === undefined) throw new ApiError('not_found', `no account ${wish.accountId}`)
  return { key: readKey(row), secret }
}

/** Newest first; of one account, or of all. */
export async function listKeys(database: Queries, accountId?: string): Promise<ApiKey[]> {
  const rows = await database.query<KeyRow>(
    `select ${columns} from api_keys where $1::text is null or account_id = $1
     order by created_at desc, id`,
    [accountId ?? null],
  )
  return rows.map(readKey)
}

export async function findKey(database: Queries, id: string): Promise<ApiKey> {
  const [row] = await database.query<KeyRow>(`select ${columns} from api_keys where id = $1`, [id])
  return readKey(existing(row, id))
}

/** The same, and no one else changes it until the transaction ends. */
export async function lockKey(queries: Queries, id: string): Promise<ApiKey> {
  const [row] = await queries.query<KeyRow>(
    `select ${columns} from api_keys where id = $1 for update`,
    [id],
  )
  return readKey(existing(row, id))
}

/**
 * Issues a new secret for the same key; the old one works for `overlapSeconds` more, but never
 * longer than it would have without a new one.
 */
export async function rotateKey(
  database: Queries,
  id: string,
  overlapSeconds: number,
): Promise<IssuedKey> {
  const { secret, prefix, hash } = issueApiKey()
  const [row] = await database.query<KeyRow>(
    `update api_keys set
       previous_hash = case when $4::float8 > 0 then hash end,
       previous_until = case when $4::float8 > 0 then least(now() + make_interval(secs => $4), expires_at) end,
       hash = $2, prefix = $3, rotated_at = now()
     where id = $1 and revoked_at is null returning ${columns}`,
    [id, hash, prefix, overlapSeconds],
  )
  return { key: readKey(existing(row, id)), secret }
}

/** Revoking twice is not an error; the first time is kept. */
export async function revokeKey(database: Queries, id: string): Promise<ApiKey> {
  const [row] = await database.query<KeyRow>(
    `update api_keys set revoked_at = coalesce(revoked_at, now()) where id = $1 returning ${columns}`,
    [id],
  )
  return readKey(existing(row, id))
}

export type KeyChange = {
  readonly name?: string
  readonly expiresAt?: Date | null
  readonly limits?: Limits
  /** Whether an admin sets the expiry. */
  readonly isExpiryFixed?: boolean
}

export async function changeKey(database: Queries, id: string, change: KeyChange): Promise<ApiKey> {
  const wire = change.limits && formatLimits(change.limits)
  const [row] = await database.query<KeyRow>(
    `update api_keys set
       name = coalesce($2, name),
       expires_at = case when $3 then $4 else expires_at end,
       requests_per_minute = case when $5 then $6 else requests_per_minute end,
       tokens_per_minute = case when $5 then $7 else tokens_per_minute end,
       tokens_per_month = case when $5 then $8 else tokens_per_month end,
       concurrent_streams = case when $5 then $9 else concurrent_streams end,
       latest_expiry = case when $3 and $10 then $4::timestamptz else latest_expiry end
     where id = $1 returning ${columns}`,
    [
      id,
      change.name ?? null,
      change.expiresAt !== undefined,
      change.expiresAt ?? null,
      wire !== undefined,
      wire?.requests_per_minute ?? null,
      wire?.tokens_per_minute ?? null,
      wire?.tokens_per_month ?? null,
      wire?.concurrent_streams ?? null,
      change.isExpiryFixed === true,
    ],
  )
  return readKey(existing(row, id))
}

/** Counts a member's keys that work, or that the member could extend so that they work again. */
export async function countLiveKeys(database: Queries, memberId: string): Promise<number> {
  const [row] = await database.query<{ count: number } & Row>(
    `select count(*) as count from api_keys where created_by = $1 and revoked_at is null
       and (latest_expiry is null or latest_expiry > now())`,
    [memberId],
  )
  return row?.count ?? 0
}

type KeyRow = Row &
  LimitsWire & {
    id: string
    account_id: string
    name: string
    prefix: string
    created_by: string | null
    created_at: Date
    rotated_at: Date | null
    expires_at: Date | null
    latest_expiry: Date | null
    revoked_at: Date | null
    last_used_at: Date | null
  }

function existing(row: KeyRow | undefined, id: string): KeyRow {
  if (row === undefined) throw new ApiError('not_found', `no usable API key ${id}`)
  return row
}

function readKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    prefix: row.prefix,
    createdBy: row.created_by,
    createdAt: row.created_at,
    rotatedAt: row.rotated_at,
    expiresAt: row.expires_at,
    latestExpiry: row.latest_expiry,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
    limits: readLimits(row),
  }
}
