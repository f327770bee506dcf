/** The caller of the admin API, and what it may do. */
import { ApiError } from '@privatemode/protocol/api'
import type { Session } from '../members/session-store.ts'

export type Actor =
  /** Holds the admin token: a shell, the stack. */
  { readonly kind: 'operator' } | { readonly kind: 'member'; readonly session: Session }

/** Whether the actor may administer the whole deployment: accounts, workers, limits. */
export function mayOperate(actor: Actor): boolean {
  if (actor.kind === 'operator') return true
  const { operates, role } = actor.session.member
  return operates && role === 'admin'
}

/** Whether the actor may administer one account: its members and all of its keys. */
export function mayAdminister(actor: Actor, accountId: string): boolean {
  if (mayOperate(actor)) return true
  if (actor.kind === 'operator') return true
  const { member } = actor.session
  return member.role === 'admin' && member.accountId === accountId
}

/** Whether the actor may see an account: members see their own. */
export function maySee(actor: Actor, accountId: string): boolean {
  if (mayOperate(actor)) return true
  return actor.kind === 'member' && actor.session.member.accountId === accountId
}

/** Whether the actor may change a key: admins all keys of the account, members their own. */
export function mayChangeKey(
  actor: Actor,
  key: { readonly accountId: string; readonly createdBy: string | null },
): boolean {
  if (mayAdminister(actor, key.accountId)) return true
  if (actor.kind === 'operator') return true
  return maySee(actor, key.accountId) && key.createdBy === actor.session.member.id
}

/** The named account, or by default the actor's own. */
export function accountOf(actor: Actor, named: string | null | undefined): string {
  if (named !== null && named !== undefined) return named
  return actor.kind === 'operator' ? 'acct_default' : actor.session.member.accountId
}

/** Hides what the actor may not see as not found; what it may see but not change is forbidden. */
export function insist(allowed: boolean, visible = true): void {
  if (allowed) return
  throw visible
    ? new ApiError('permission_denied', 'you may not do this')
    : new ApiError('not_found', 'not found')
}
