/** Members of accounts. */
import { ApiError } from '@privatemode/protocol/api'
import { refuseForeignDomain } from '../accounts/email-domains.ts'
import { newId } from '../keys/api-key.ts'
import type { Queries, Row } from '../state/database.ts'
import { wrongPassword } from './password.ts'

export type Role = 'admin' | 'member'

export type Member = {
  readonly id: string
  readonly accountId: string
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly createdAt: Date
  readonly disabledAt: Date | null
  readonly hasPassword: boolean
  /** Whether the account operates the deployment. */
  readonly operates: boolean
}

export type NewMember = {
  readonly accountId: string
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly passwordHash: string | null
}

export type MemberChange = {
  readonly name?: string
  readonly role?: Role
  readonly disabled?: boolean
}

const columns = `m.id, m.account_id, m.email, m.name, m.role, m.created_at, m.disabled_at,
  m.password_hash is not null as has_password, a.operates`

export async function createMember(database: Queries, wish: NewMember): Promise<Member> {
  await refuseForeignDomain(database, wish.accountId, wish.email)
  const id = newId('mem')
  const rows = await database.query(
    `insert into members (id, account_id, email, name, role, password_hash)
     values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning id`,
    [id, wish.accountId, wish.email, wish.name, wish.role, wish.passwordHash],
  )
  if (rows.length === 0) {
    throw new ApiError('invalid_value', 'the account has a member with this address already', {
      param: 'email',
      status: 409,
    })
  }
  return findMember(database, id)
}

export async function findMember(database: Queries, id: string): Promise<Member> {
  const [row] = await database.query<MemberRow>(
    `select ${columns} from members m join accounts a on a.id = m.account_id where m.id = $1`,
    [id],
  )
  if (row === undefined) throw new ApiError('not_found', 'there is no such member')
  return readMember(row)
}

export async function listMembers(database: Queries, accountId?: string): Promise<Member[]> {
  const rows = await database.query<MemberRow>(
    `select ${columns} from members m join accounts a on a.id = m.account_id
     where $1::text is null or m.account_id = $1 order by m.created_at, m.id`,
    [accountId ?? null],
  )
  return rows.map(readMember)
}

/**
 * A disabled member is signed out immediately. Invitations end for good with the rights of the
 * admin who created them. The last admin of an account remains one.
 */
export async function changeMember(
  database: Queries,
  id: string,
  change: MemberChange,
): Promise<Member> {
  // Serialized: two admins who disable each other concurrently would leave none.
  await database.query(
    'select 1 from accounts where id = (select account_id from members where id = $1) for no key update',
    [id],
  )
  const member = await findMember(database, id)
  if (change.role === 'member' || change.disabled === true) {
    await refuseLastAdmin(database, member)
  }
  await database.query(
    `update members set name = coalesce($2, name), role = coalesce($3, role),
       disabled_at = case $4::boolean when true then coalesce(disabled_at, now())
         when false then null else disabled_at end
     where id = $1`,
    [id, change.name ?? null, change.role ?? null, change.disabled ?? null],
  )
  if (change.role === 'member' || change.disabled === true) await endInvitations(database, id)
  if (change.disabled === true) await endSessions(database, id)
  return findMember(database, id)
}

/**
 * Ends all sessions, and links that would set the password again. With `oldHash`, throws if that is
 * no longer the password.
 */
export async function setPassword(
  database: Queries,
  id: string,
  passwordHash: string,
  oldHash?: string,
): Promise<void> {
  const changed = await database.query(
    `update members set password_hash = $2
     where id = $1 and ($3::text is null or password_hash = $3) returning id`,
    [id, passwordHash, oldHash ?? null],
  )
  if (changed.length === 0) throw wrongPassword()
  await database.query(
    'update invitations set used_at = now() where member_id = $1 and used_at is null',
    [id],
  )
  await endSessions(database, id)
}

export async function endSessions(database: Queries, memberId: string): Promise<void> {
  await database.query('delete from known_browsers where member_id = $1', [memberId])
  await database.query('delete from sessions where member_id = $1', [memberId])
}

/** Invitations this member created, and those that would set this member's password. */
async function endInvitations(database: Queries, memberId: string): Promise<void> {
  await database.query(
    `update invitations set revoked_at = now()
     where (created_by = $1 or member_id = $1) and used_at is null and revoked_at is null`,
    [memberId],
  )
}

async function refuseLastAdmin(database: Queries, member: Member): Promise<void> {
  if (member.role !== 'admin' || member.disabledAt !== null) return
  const others = await database.query(
    `select 1 from members where account_id = $1 and role = 'admin' and disabled_at is null
     and id <> $2 limit 1`,
    [member.accountId, member.id],
  )
  if (others.length > 0) return
  throw new ApiError('invalid_value', 'an account keeps at least one admin', { status: 409 })
}

export type MemberRow = Row & {
  id: string
  account_id: string
  email: string
  name: string
  role: Role
  created_at: Date
  disabled_at: Date | null
  has_password: boolean
  operates: boolean
}

function readMember(row: MemberRow): Member {
  return {
    id: row.id,
    accountId: row.account_id,
    email: row.email,
    name: row.name,
    role: row.role,
    createdAt: row.created_at,
    disabledAt: row.disabled_at,
    hasPassword: row.has_password,
    operates: row.operates,
  }
}
