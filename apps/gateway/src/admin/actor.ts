/** Who asks something of the admin API, and what that one may do. */
import { ApiError } from '@privatemode/protocol/api'
import type { Session } from '../members/session-store.ts'

export type Actor =
  /** Has the admin token: a shell, the stack. */
  { readonly kind: 'operator' } | { readonly kind: 'member'; readonly session: Session }

/** May administer the whole deployment: accounts, workers, limits. */
export function mayOperate(actor: Actor): boolean {
  if (actor.kind === 'operator') return true
  const { operates, role } = actor.session.member
  return operates && role === 'admin'
}

/** May administer one account: its members, all of its keys. */
export function mayAdminister(actor: Actor, accountId: string): boolean {
  if (mayOperate(actor)) return true
  if (actor.kind === 'operator') return true
  const { member } = actor.session
  return member.role === 'admin' && member.accountId === accountId
}

/** May see an account: every member its own. */
export function maySee(actor: Actor, accountId: string): boolean {
  if (mayOperate(actor)) return true
  return actor.kind === 'member' && actor.session.member.accountId === accountId
}

/** May change a key: an admin each of the account, a member the own ones. */
export function mayChangeKey(
  actor: Actor,
  key: { readonly accountId: string; readonly createdBy: string | null },
): boolean {
  if (mayAdminister(actor, key.accountId)) return true
  if (actor.kind === 'operator') return true
  return maySee(actor, key.accountId) && key.createdBy === actor.session.member.id
}

/** Where nothing else is named: the own account. */
export function accountOf(actor: Actor, named: string | null | undefined): string {
  if (named !== null && named !== undefined) return named
  return actor.kind === 'operator' ? 'acct_default' : actor.session.member.accountId
}

/** What one may not see does not exist; what one may see but not change is forbidden. */
export function insist(allowed: boolean, visible = true): void {
  if (allowed) return
  throw visible
    ? new ApiError('permission_denied', 'you may not do this')
    : new ApiError('not_found', 'there is no such thing')
}
