/** Members of accounts, and links that invite them. */
import { invite } from '../../members/invitations.ts'
import { changeMember, findMember, listMembers, type Member } from '../../members/member-store.ts'
import { type Actor, accountOf, insist, mayAdminister, mayOperate, maySee } from '../actor.ts'
import { type AdminParts, type AdminRoute, route } from '../admin-route.ts'
import { email, flag, nullable, oneOf, optional, text } from '../fields.ts'

const member = { $ref: '#/components/schemas/Member' }
const invitation = { $ref: '#/components/schemas/Invitation' }

export const memberRoutes: readonly AdminRoute[] = [
  route('GET /members', {
    summary: 'List members of an account',
    query: { account: optional(text(1, 64)) },
    answer: { type: 'object', properties: { members: { type: 'array', items: member } } },
    async handle({ parts, actor, query }) {
      const everyone = mayOperate(actor) && query.account === undefined
      const accountId = everyone ? undefined : accountOf(actor, query.account)
      if (accountId !== undefined) insist(maySee(actor, accountId), false)
      const members = await listMembers(parts.database, accountId)
      return Response.json({ members: members.map(formatMember) })
    },
  }),
  route('POST /invitations', {
    summary: 'Make a one-time link for a new member; it is in this answer and never again',
    status: 201,
    body: {
      account_id: nullable(text(1, 64)),
      role: oneOf('admin', 'member'),
      email: nullable(email()),
    },
    answer: invitation,
    async handle({ parts, actor, body }) {
      const accountId = accountOf(actor, body.account_id)
      insist(mayAdminister(actor, accountId), maySee(actor, accountId))
      return answerInvitation(parts, {
        accountId,
        role: body.role,
        email: body.email ?? null,
        memberId: null,
      })
    },
  }),
  route('PATCH /members/{id}', {
    summary: 'Rename a member, change the role, disable or enable',
    body: {
      name: optional(text(1, 100)),
      role: optional(oneOf('admin', 'member')),
      disabled: optional(flag()),
    },
    answer: member,
    async handle({ parts, actor, params, body }) {
      const found = await findAdministered(parts, actor, params.id)
      const changed = await changeMember(parts.database, found.id, {
        ...(body.name === undefined ? {} : { name: body.name }),
        ...(body.role === undefined ? {} : { role: body.role }),
        ...(body.disabled === undefined ? {} : { disabled: body.disabled }),
      })
      return Response.json(formatMember(changed))
    },
  }),
  route('POST /members/{id}/reset', {
    summary: 'Make a one-time link with which a member sets a new password',
    status: 201,
    answer: invitation,
    async handle({ parts, actor, params }) {
      const found = await findAdministered(parts, actor, params.id)
      return answerInvitation(parts, {
        accountId: found.accountId,
        role: found.role,
        email: found.email,
        memberId: found.id,
      })
    },
  }),
]

async function findAdministered(parts: AdminParts, actor: Actor, id = ''): Promise<Member> {
  const found = await findMember(parts.database, id)
  insist(mayAdminister(actor, found.accountId), maySee(actor, found.accountId))
  return found
}

/** The token stands behind `#`: browsers keep that part to themselves, servers never log it. */
async function answerInvitation(
  parts: AdminParts,
  wish: Parameters<typeof invite>[1],
): Promise<Response> {
  const { token, expiresAt } = await invite(parts.database, wish)
  const url = `${parts.publicUrl}/#invitation=${token}`
  return Response.json({ url, expires_at: expiresAt.toISOString() }, { status: 201 })
}

export function formatMember(found: Member): Record<string, unknown> {
  return {
    id: found.id,
    account_id: found.accountId,
    email: found.email,
    name: found.name,
    role: found.role,
    operates: found.operates && found.role === 'admin',
    has_password: found.hasPassword,
    created_at: found.createdAt.toISOString(),
    disabled_at: found.disabledAt?.toISOString() ?? null,
  }
}
