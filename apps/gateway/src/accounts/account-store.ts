/** Accounts, the units of billing. */
import { ApiError } from '@privatemode/protocol/api'
import { newId } from '../keys/api-key.ts'
import {
  formatLimits,
  type Limits,
  type LimitsWire,
  limitColumns,
  readLimits,
} from '../keys/limits.ts'
import type { Queries, Row } from '../state/database.ts'
import { setDomains } from './email-domains.ts'

export type Account = {
  readonly id: string
  readonly name: string
  readonly createdAt: Date
  readonly disabledAt: Date | null
  readonly operates: boolean
  readonly limits: Limits
  readonly memberPolicy: MemberPolicy
  /** Addresses in these domains are reserved for members of this account. */
  readonly emailDomains: readonly string[]
}

/** Bounds on the keys of members who are not admins. */
export type MemberPolicy = {
  /** Shared by all keys of one member. */
  readonly limits: Limits
  /** Maximum lifetime of a key; null means unlimited. */
  readonly keyDays: number | null
}

export type AccountChange = {
  readonly name?: string | undefined
  readonly disabled?: boolean | undefined
  readonly limits?: Limits | undefined
  readonly memberLimits?: Limits | undefined
  /** Null removes the limit. */
  readonly memberKeyDays?: number | null | undefined
  readonly emailDomains?: readonly string[] | undefined
}

const memberColumns = limitColumns.replaceAll(/(\w+)/g, 'member_$1')
const columns = `id, name, created_at, disabled_at, operates, ${limitColumns}, ${memberColumns}, member_key_days,
  (select coalesce(jsonb_agg(d.domain order by d.domain), '[]') from account_domains d
   where d.account_id = accounts.id) as email_domains`

export async function createAccount(
  database: Queries,
  name: string,
  limits: Limits,
): Promise<Account> {
  const wire = formatLimits(limits)
  const [row] = await database.query<AccountRow>(
    `insert into accounts (id, name, ${limitColumns}) values ($1, $2, $3, $4, $5, $6)
     returning ${columns}`,
    [
      newId('acct'),
      name,
      wire.requests_per_minute,
      wire.tokens_per_minute,
      wire.tokens_per_month,
      wire.concurrent_streams,
    ],
  )
  return readAccount(existing(row))
}

export async function listAccounts(database: Queries, id?: string): Promise<Account[]> {
  const rows = await database.query<AccountRow>(
    `select ${columns} from accounts where $1::text is null or id = $1 order by created_at, id`,
    [id ?? null],
  )
  return rows.map(readAccount)
}

/**
 * Disabling an account stops its keys and members, and ends its invitations and those its members
 * created.
 */
export async function changeAccount(
  database: Queries,
  id: string,
  change: AccountChange,
): Promise<Account> {
  if (change.emailDomains !== undefined) await setDomains(database, id, change.emailDomains)
  const wire = change.limits && formatLimits(change.limits)
  const members = change.memberLimits && formatLimits(change.memberLimits)
  const [row] = await database.query<AccountRow>(
    `update accounts set name = coalesce($2, name),
       disabled_at = case $3::boolean when true then coalesce(disabled_at, now())
         when false then null else disabled_at end,
       requests_per_minute = case when $4 then $5 else requests_per_minute end,
       tokens_per_minute = case when $4 then $6 else tokens_per_minute end,
       tokens_per_month = case when $4 then $7 else tokens_per_month end,
       concurrent_streams = case when $4 then $8 else concurrent_streams end,
       member_requests_per_minute = case when $9 then $10 else member_requests_per_minute end,
       member_tokens_per_minute = case when $9 then $11 else member_tokens_per_minute end,
       member_tokens_per_month = case when $9 then $12 else member_tokens_per_month end,
       member_concurrent_streams = case when $9 then $13 else member_concurrent_streams end,
       member_key_days = case when $14 then $15 else member_key_days end
     where id = $1 returning ${columns}`,
    [
      id,
      change.name ?? null,
      change.disabled ?? null,
      wire !== undefined,
      wire?.requests_per_minute ?? null,
      wire?.tokens_per_minute ?? null,
      wire?.tokens_per_month ?? null,
      wire?.concurrent_streams ?? null,
      members !== undefined,
      members?.requests_per_minute ?? null,
      members?.tokens_per_minute ?? null,
      members?.tokens_per_month ?? null,
      members?.concurrent_streams ?? null,
      change.memberKeyDays !== undefined,
      change.memberKeyDays ?? null,
    ],
  )
  if (change.disabled === true) await endInvitations(database, id)
  return readAccount(existing(row))
}

async function endInvitations(database: Queries, accountId: string): Promise<void> {
  await database.query(
    `update invitations set revoked_at = now() where used_at is null and revoked_at is null
       and (account_id = $1 or created_by in (select id from members where account_id = $1))`,
    [accountId],
  )
}

type AccountRow = Row &
  LimitsWire & {
    id: string
    name: string
    created_at: Date
    disabled_at: Date | null
    operates: boolean
    email_domains: string[]
  } & MemberLimitRow

type MemberLimitRow = { [Name in keyof LimitsWire as `member_${Name}`]: number | null } & {
  member_key_days: number | null
}

function existing(row: AccountRow | undefined): AccountRow {
  if (row === undefined) throw new ApiError('not_found', 'there is no such account')
  return row
}

function readAccount(row: AccountRow): Account {
  return {
    id: row.id,
    name: row.name,
    createdAt: row.created_at,
    disabledAt: row.disabled_at,
    operates: row.operates,
    limits: readLimits(row),
    memberPolicy: {
      limits: {
        requestsPerMinute: row.member_requests_per_minute,
        tokensPerMinute: row.member_tokens_per_minute,
        tokensPerMonth: row.member_tokens_per_month,
        concurrentStreams: row.member_concurrent_streams,
      },
      keyDays: row.member_key_days,
    },
    emailDomains: row.email_domains,
  }
}
