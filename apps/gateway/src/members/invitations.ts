/** One-time links with which a person sets a password and becomes a member, or regains access. */
import { ApiError } from '@privatemode/protocol/api'
import { refuseForeignDomain } from '../accounts/email-domains.ts'
import { newId } from '../keys/api-key.ts'
import type { Database, Queries, Row } from '../state/database.ts'
import { createMember, findMember, type Member, type Role, setPassword } from './member-store.ts'
import { checkPassword, enterHashing, hashPassword } from './password.ts'
import { hashToken, newToken } from './token.ts'

export type NewInvitation = {
  readonly accountId: string
  readonly role: Role
  /** Fixed by the inviter, or chosen by the invited person. */
  readonly email: string | null
  /** Set if an existing member gets a new password. */
  readonly memberId: string | null
  /** The inviting member; in an invitation that was read, null for the operator and its staff. */
  readonly createdBy: string | null
}

/** An invitation as admins see it: never the token. */
export type Invitation = NewInvitation & {
  readonly id: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

const lifetimeHours = 72
const maxOpen = 100
const keptDays = 30

/** Only the answer contains the token; it is not stored. */
export async function invite(
  queries: Queries,
  wish: NewInvitation,
): Promise<{ readonly token: string; readonly invitation: Invitation }> {
  await queries.query(
    `delete from invitations where expires_at < now() - make_interval(days => ${keptDays})`,
  )
  await refuseTooMany(queries, wish)
  if (wish.email !== null) await refuseForeignDomain(queries, wish.accountId, wish.email)
  const token = newToken()
  const [row] = await queries.query<InvitationRow>(
    `insert into invitations as i
       (token_hash, id, account_id, role, member_id, email, created_by, expires_at)
     select $1, $2, a.id, $4, $5, $6, $7, now() + make_interval(hours => ${lifetimeHours})
     from accounts a where a.id = $3 returning ${columns}`,
    [
      hashToken(token),
      newId('inv'),
      wish.accountId,
      wish.role,
      wish.memberId,
      wish.email,
      wish.createdBy,
    ],
  )
  if (row === undefined) throw new ApiError('not_found', `no account ${wish.accountId}`)
  return { token, invitation: readInvitation(row) }
}

async function refuseTooMany(queries: Queries, { accountId, createdBy }: NewInvitation) {
  if (createdBy === null) return
  const open = await queries.query(
    `select 1 from ${usable} and i.account_id = $1 limit ${maxOpen}`,
    [accountId],
  )
  if (open.length < maxOpen) return
  const message = `the account has ${maxOpen} open invitations; revoke some first`
  throw new ApiError('invalid_value', message, { status: 409 })
}

/** Valid invitations, newest first; of one account, or of all. */
export async function listInvitations(
  database: Queries,
  accountId?: string,
): Promise<Invitation[]> {
  const rows = await database.query<InvitationRow>(
    `select ${columns} from ${usable} and ($1::text is null or i.account_id = $1)
     order by i.created_at desc, i.id`,
    [accountId ?? null],
  )
  return rows.map(readInvitation)
}

export async function findInvitation(database: Queries, id: string): Promise<Invitation> {
  const [row] = await database.query<InvitationRow>(
    `select ${columns} from ${usable} and i.id = $1`,
    [id],
  )
  if (row === undefined) throw new ApiError('not_found', 'there is no such open invitation')
  return readInvitation(row)
}

export async function revokeInvitation(queries: Queries, id: string): Promise<void> {
  await queries.query('update invitations set revoked_at = now() where id = $1', [id])
}

export type Acceptance = {
  readonly token: string
  readonly email: string | undefined
  readonly name: string | undefined
  readonly password: string
}

/** Hooks for the audit log, called in the transaction of the change if there is one. */
export type AcceptanceRecord = {
  readonly accepted: (queries: Queries, accepted: Accepted) => Promise<void>
  readonly refused: (invitation: Invitation) => Promise<void>
}

export type Accepted = {
  readonly member: Member
  readonly invitation: Invitation
  readonly passwordHash: string
}

/**
 * Works once: the link is consumed in the same transaction. The token is looked up before the
 * password is hashed, so that no one without a token can cause that work.
 */
export async function acceptInvitation(
  database: Database,
  given: Acceptance,
  record: AcceptanceRecord,
): Promise<Accepted> {
  checkPassword(given.password)
  const [open] = await database.query<InvitationRow>(
    `select ${columns} from ${usable} and i.token_hash = $1`,
    [hashToken(given.token)],
  )
  if (open === undefined) {
    const ended = await findEnded(database, given.token)
    // 256 bits cannot be guessed: an unknown token is noise, an expired one once belonged to a person.
    if (ended !== undefined) await record.refused(ended)
    throw refuseLink()
  }
  if (open.member_id === null) {
    await refuseForeignDomain(database, open.account_id, emailFor(open, given))
  }
  const passwordHash = await hashFor(open.id, given.password)
  return database.transaction(async (queries) => {
    const [row] = await queries.query<InvitationRow>(
      `update invitations as i set used_at = now()
       where i.id in (select i.id from ${usable} and i.token_hash = $1) and i.used_at is null
       returning ${columns}`,
      [hashToken(given.token)],
    )
    if (row === undefined) throw refuseLink()
    const accepted = {
      member: await applyInvitation(queries, row, given, passwordHash),
      invitation: readInvitation(row),
      passwordHash,
    }
    await record.accepted(queries, accepted)
    return accepted
  })
}

async function hashFor(invitationId: string, password: string): Promise<string> {
  const turn = enterHashing({ name: `invitation ${invitationId}`, isKnown: true })
  try {
    return await hashPassword(password, turn)
  } finally {
    turn.end()
  }
}

async function findEnded(database: Queries, token: string): Promise<Invitation | undefined> {
  const [row] = await database.query<InvitationRow>(
    `select ${columns} from invitations i where i.token_hash = $1`,
    [hashToken(token)],
  )
  return row && readInvitation(row)
}

async function applyInvitation(
  queries: Queries,
  row: InvitationRow,
  given: Acceptance,
  passwordHash: string,
): Promise<Member> {
  if (row.member_id !== null) {
    await setPassword(queries, row.member_id, passwordHash)
    return findMember(queries, row.member_id)
  }
  const email = emailFor(row, given)
  const name = given.name ?? email.slice(0, email.indexOf('@'))
  const { account_id: accountId, role } = row
  return createMember(queries, { accountId, email, name, role, passwordHash })
}

function emailFor(row: InvitationRow, given: Acceptance): string {
  const email = row.email ?? given.email
  if (email !== undefined) return email
  throw new ApiError('missing_parameter', 'email is missing', { param: 'email' })
}

function refuseLink(): ApiError {
  return new ApiError('permission_denied', 'this link was used before, was revoked or has expired')
}

/** Invitations end with the rights of their creator, of the account, and of the member they are for. */
const usable = `invitations i join accounts a on a.id = i.account_id
  where i.used_at is null and i.revoked_at is null and i.expires_at > now()
    and a.disabled_at is null
    and not exists (select 1 from members m where m.id = i.member_id and m.disabled_at is not null)
    and (i.created_by is null or exists (
      select 1 from members c join accounts ca on ca.id = c.account_id
      where c.id = i.created_by and c.role = 'admin' and c.disabled_at is null
        and ca.disabled_at is null and (c.account_id = i.account_id or ca.operates)))`

// Staff of the operator who invite into another account stay unknown there.
const columns = `i.id, i.account_id, i.role, i.member_id, i.email, i.created_at, i.expires_at,
  (select c.id from members c
   where c.id = i.created_by and c.account_id = i.account_id) as created_by`

type InvitationRow = Row & {
  id: string
  account_id: string
  role: Role
  member_id: string | null
  email: string | null
  created_by: string | null
  created_at: Date
  expires_at: Date
}

function readInvitation(row: InvitationRow): Invitation {
  return {
    id: row.id,
    accountId: row.account_id,
    role: row.role,
    memberId: row.member_id,
    email: row.email,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}
