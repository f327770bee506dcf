/** One-time links: who has one may set a password and become, or is again, a member. */
import { ApiError } from '@privatemode/protocol/api'
import type { Database, Queries, Row } from '../state/database.ts'
import { createMember, findMember, type Member, type Role, setPassword } from './member-store.ts'
import { hashPassword } from './password.ts'
import { hashToken, newToken } from './token.ts'

export type Invitation = {
  readonly accountId: string
  readonly role: Role
  /** Fixed by whoever invites, or left to the invited. */
  readonly email: string | null
  /** Set where an existing member gets a new password. */
  readonly memberId: string | null
}

const lifetimeHours = 72

/** The token is in the answer and nowhere else. */
export async function invite(
  database: Queries,
  invitation: Invitation,
): Promise<{ readonly token: string; readonly expiresAt: Date }> {
  const token = newToken()
  const [row] = await database.query<{ expires_at: Date } & Row>(
    `insert into invitations (token_hash, account_id, role, member_id, email, expires_at)
     values ($1, $2, $3, $4, $5, now() + make_interval(hours => ${lifetimeHours}))
     returning expires_at`,
    [
      hashToken(token),
      invitation.accountId,
      invitation.role,
      invitation.memberId,
      invitation.email,
    ],
  )
  return { token, expiresAt: row?.expires_at ?? new Date() }
}

export type Acceptance = {
  readonly token: string
  readonly email: string | undefined
  readonly name: string | undefined
  readonly password: string
}

/** Works once: the link is used up in the same transaction. */
export async function acceptInvitation(database: Database, given: Acceptance): Promise<Member> {
  const passwordHash = await hashPassword(given.password)
  return database.transaction(async (queries) => {
    const [row] = await queries.query<InvitationRow>(
      `update invitations i set used_at = now() from accounts a
       where i.token_hash = $1 and i.used_at is null and i.expires_at > now()
         and a.id = i.account_id and a.disabled_at is null
         and not exists (select 1 from members m where m.id = i.member_id and m.disabled_at is not null)
       returning i.account_id, i.role, i.member_id, i.email`,
      [hashToken(given.token)],
    )
    if (row === undefined) {
      throw new ApiError('permission_denied', 'this link was used before or has expired')
    }
    if (row.member_id !== null) {
      await setPassword(queries, row.member_id, passwordHash)
      return findMember(queries, row.member_id)
    }
    const email = row.email ?? given.email
    if (email === undefined) {
      throw new ApiError('missing_parameter', 'email is missing', { param: 'email' })
    }
    const name = given.name ?? email.slice(0, email.indexOf('@'))
    const { account_id: accountId, role } = row
    return createMember(queries, { accountId, email, name, role, passwordHash })
  })
}

type InvitationRow = Row & {
  account_id: string
  role: Role
  member_id: string | null
  email: string | null
}
