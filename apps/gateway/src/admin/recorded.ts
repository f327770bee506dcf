/** Changes recorded in the audit log. */
import { ApiError } from '@privatemode/protocol/api'
import type { AuditAction } from '@privatemode/protocol/fleet'
import {
  type AuditActor,
  type AuditSubject,
  countToday,
  operatorActor,
  recordEvent,
} from '../audit/audit-log.ts'
import type { Member } from '../members/member-store.ts'
import type { Queries } from '../state/database.ts'
import type { Actor } from './actor.ts'
import type { AdminParts } from './admin-route.ts'

/** More than anyone does by hand; it bounds how much one session can grow the log. */
const maxChangesADay = 2_000

type Call = { readonly parts: AdminParts; readonly actor: Actor; readonly address: string }

/** Makes a change and its audit log entry in one transaction: neither exists without the other. */
export function recorded<T>(
  { parts, actor, address }: Call,
  action: AuditAction,
  change: (queries: Queries) => Promise<{ readonly value: T; readonly about: AuditSubject }>,
): Promise<T> {
  const who = { actor: auditActorOf(actor), address }
  return parts.database.transaction(async (queries) => {
    if (actor.kind === 'member') await refuseTooMany(queries, who.actor.id)
    const { value, about } = await change(queries)
    await recordEvent(queries, action, who, about)
    return value
  })
}

export function auditActorOf(actor: Actor): AuditActor {
  return actor.kind === 'operator' ? operatorActor : memberActor(actor.session.member)
}

export function memberActor({ id, email, accountId }: Member): AuditActor {
  return { id, name: email, accountId }
}

async function refuseTooMany(queries: Queries, actorId: string): Promise<void> {
  if ((await countToday(queries, actorId)) < maxChangesADay) return
  const message = `you have made ${maxChangesADay} changes within a day; continue tomorrow`
  throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: 3600 })
}

/** Drops fields without a value, which stay unchanged. */
export function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
