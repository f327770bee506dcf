/** Members of accounts. */
import { adminSchemas, type Member as WireMember } from '@privatemode/protocol/fleet'
import type { AuditSubject } from '../../audit/audit-log.ts'
import { changeMember, findMember, listMembers, type Member } from '../../members/member-store.ts'
import { type Actor, accountOf, insist, mayAdminister, mayOperate, maySee } from '../actor.ts'
import { type AdminParts, type AdminRoute, route } from '../admin-route.ts'
import { flag, oneOf, optional, text } from '../fields.ts'
import { given, recorded } from '../recorded.ts'
import { answerInvitation } from './invitation-routes.ts'

const { Member: member } = adminSchemas

export const memberRoutes: readonly AdminRoute[] = [
  route('GET /members', {
    summary: 'List members of an account',
    query: { account: optional(text(1, 64)) },
    answer: adminSchemas.MemberList,
    async handle({ parts, actor, query }) {
      const everyone = mayOperate(actor) && query.account === undefined
      const accountId = everyone ? undefined : accountOf(actor, query.account)
      if (accountId !== undefined) insist(maySee(actor, accountId), false)
      const members = await listMembers(parts.database, accountId)
      return { members: members.map(formatMember) }
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
    async handle(call) {
      const { parts, actor, params, body } = call
      const found = await findAdministered(parts, actor, params.id)
      const changed = await recorded(call, 'member.changed', async (queries) => {
        const value = await changeMember(queries, found.id, {
          ...(body.name === undefined ? {} : { name: body.name }),
          ...(body.role === undefined ? {} : { role: body.role }),
          ...(body.disabled === undefined ? {} : { disabled: body.disabled }),
        })
        return { value, about: aboutMember(found, given(body)) }
      })
      return formatMember(changed)
    },
  }),
  route('POST /members/{id}/reset', {
    summary: 'Create a one-time link with which a member sets a new password',
    status: 201,
    answer: adminSchemas.IssuedInvitation,
    async handle(call) {
      const found = await findAdministered(call.parts, call.actor, call.params.id)
      return answerInvitation(call, 'password.reset_requested', {
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

export function aboutMember(found: Member, details: Record<string, unknown> = {}): AuditSubject {
  return { accountId: found.accountId, id: found.id, name: found.email, details }
}

export function formatMember(found: Member): WireMember {
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
