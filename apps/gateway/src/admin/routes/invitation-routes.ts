/** One-time links: created, listed and revoked by admins. */
import {
  type AuditAction,
  adminSchemas,
  type IssuedInvitation,
  type Invitation as WireInvitation,
} from '@privatemode/protocol/fleet'
import type { AuditSubject } from '../../audit/audit-log.ts'
import {
  findInvitation,
  type Invitation,
  invite,
  listInvitations,
  type NewInvitation,
  revokeInvitation,
} from '../../members/invitations.ts'
import { type Actor, accountOf, insist, mayAdminister, mayOperate, maySee } from '../actor.ts'
import { type AdminCall, type AdminRoute, route } from '../admin-route.ts'
import { email, nullable, oneOf, optional, text } from '../fields.ts'
import { recorded } from '../recorded.ts'

const { Invitation: invitation, IssuedInvitation: issued } = adminSchemas

export const invitationRoutes: readonly AdminRoute[] = [
  route('GET /invitations', {
    summary: 'List the valid invitations and password links, newest first',
    query: { account: optional(text(1, 64)) },
    answer: adminSchemas.InvitationList,
    async handle({ parts, actor, query }) {
      const everyone = mayOperate(actor) && query.account === undefined
      const accountId = everyone ? undefined : accountOf(actor, query.account)
      if (accountId !== undefined) {
        insist(mayAdminister(actor, accountId), maySee(actor, accountId))
      }
      const open = await listInvitations(parts.database, accountId)
      return { invitations: open.map(formatInvitation) }
    },
  }),
  route('POST /invitations', {
    summary: 'Create a one-time link for a new member; it is only shown in this answer',
    status: 201,
    body: {
      account_id: nullable(text(1, 64)),
      role: oneOf('admin', 'member'),
      email: nullable(email()),
    },
    answer: issued,
    async handle(call) {
      const { actor, body } = call
      const accountId = accountOf(actor, body.account_id)
      insist(mayAdminister(actor, accountId), maySee(actor, accountId))
      return answerInvitation(call, 'invitation.created', {
        accountId,
        role: body.role,
        email: body.email ?? null,
        memberId: null,
      })
    },
  }),
  route('DELETE /invitations/{id}', {
    summary: 'Revoke an invitation or a password link',
    answer: invitation,
    async handle(call) {
      const { parts, actor, params } = call
      const found = await findInvitation(parts.database, params.id ?? '')
      insist(mayAdminister(actor, found.accountId), false)
      await recorded(call, 'invitation.revoked', async (queries) => {
        await revokeInvitation(queries, found.id)
        return { value: undefined, about: aboutInvitation(found) }
      })
      return formatInvitation(found)
    },
  }),
]

/** The token follows `#`: browsers do not send that part, so servers never log it. */
export async function answerInvitation(
  call: AdminCall<unknown, unknown, Actor>,
  action: AuditAction & ('invitation.created' | 'password.reset_requested'),
  wish: Omit<NewInvitation, 'createdBy'>,
): Promise<IssuedInvitation> {
  const { parts, actor } = call
  const createdBy = actor.kind === 'member' ? actor.session.member.id : null
  const { token, invitation: made } = await recorded(call, action, async (queries) => {
    const value = await invite(queries, { ...wish, createdBy })
    return { value, about: aboutInvitation(value.invitation) }
  })
  const url = `${parts.publicUrl}/#invitation=${token}`
  return { ...formatInvitation(made), url }
}

export function aboutInvitation(found: Invitation): AuditSubject {
  const { accountId, id, email: address, role, memberId } = found
  const name = address ?? 'any address'
  return { accountId, id, name, details: memberId === null ? { role } : { member_id: memberId } }
}

function formatInvitation(found: Invitation): WireInvitation {
  return {
    id: found.id,
    account_id: found.accountId,
    role: found.role,
    email: found.email,
    member_id: found.memberId,
    created_by: found.createdBy,
    created_at: found.createdAt.toISOString(),
    expires_at: found.expiresAt.toISOString(),
  }
}
