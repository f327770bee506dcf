/** Sessions of signed-in members: a random cookie, its hash in the database. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { ApiError } from '@privatemode/protocol/api'
import type { Queries, Row } from '../state/database.ts'
import { isKnownBrowser, rememberBrowser, seeBrowserAgain } from './known-browsers.ts'
import { findMember, type Member } from './member-store.ts'
import { wrongPassword } from './password.ts'
import { hashToken, newToken } from './token.ts'

const idleHours = 12
const maxDays = 7
const maxPerMember = 100

export type Session = { readonly member: Member; readonly token: string }

/** A session just started, and what the browser keeps beyond it. */
export type NewSession = Session & { readonly browserToken: string }

export type SessionWish = {
  /** What the browser kept from an earlier sign-in of the same member. */
  readonly browserToken?: string | undefined
  /** The hash that the password was checked against; undefined without a password. */
  readonly passwordHash?: string | undefined
}

/**
 * Throws if the member was disabled or got another password since it was checked. Run it in a
 * transaction: the member's row stays locked, so that a new password finds this session and ends it.
 */
export async function beginSession(
  database: Queries,
  member: Member,
  { browserToken, passwordHash }: SessionWish = {},
): Promise<NewSession> {
  const token = newToken()
  await database.query(
    `delete from sessions where created_at < now() - make_interval(days => ${maxDays})`,
  )
  const begun = await database.query(
    `insert into sessions (token_hash, member_id)
     select $1, id from members
     where id = $2 and disabled_at is null and ($3::text is null or password_hash = $3)
     for share returning member_id`,
    [hashToken(token), member.id, passwordHash ?? null],
  )
  if (begun.length === 0) throw wrongPassword()
  await database.query(
    `delete from sessions where member_id = $1 and token_hash not in (
       select token_hash from sessions where member_id = $1
       order by seen_at desc, token_hash limit ${maxPerMember})`,
    [member.id],
  )
  if (browserToken !== undefined && (await isKnownBrowser(database, browserToken, member.id))) {
    await seeBrowserAgain(database, browserToken)
    return { member, token, browserToken }
  }
  return { member, token, browserToken: await rememberBrowser(database, member.id) }
}

/** The session for a cookie; undefined if it has ended. */
export async function findSession(database: Queries, token: string): Promise<Session | undefined> {
  const [row] = await database.query<{ member_id: string; stale: boolean } & Row>(
    `select s.member_id, s.seen_at < now() - interval '1 minute' as stale
     from sessions s join members m on m.id = s.member_id join accounts a on a.id = m.account_id
     where s.token_hash = $1 and m.disabled_at is null and a.disabled_at is null
       and s.seen_at > now() - make_interval(hours => ${idleHours})
       and s.created_at > now() - make_interval(days => ${maxDays})`,
    [hashToken(token)],
  )
  if (row === undefined) return undefined
  if (row.stale) {
    await database.query('update sessions set seen_at = now() where token_hash = $1', [
      hashToken(token),
    ])
  }
  return { member: await findMember(database, row.member_id), token }
}

export async function endSession(database: Queries, token: string): Promise<void> {
  await database.query('delete from sessions where token_hash = $1', [hashToken(token)])
}

/** Pages must send this with every change: other sites cannot read it. */
export function csrfTokenOf(sessionToken: string): string {
  return createHash('sha256').update(`csrf ${sessionToken}`).digest('base64url')
}

export function checkCsrfToken(sessionToken: string, given: string | null): void {
  const wanted = Buffer.from(csrfTokenOf(sessionToken))
  const found = Buffer.from(given ?? '')
  if (found.length === wanted.length && timingSafeEqual(found, wanted)) return
  throw new ApiError('permission_denied', 'the header x-csrf-token is missing or wrong')
}
