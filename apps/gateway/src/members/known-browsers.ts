/**
 * Browsers in which a member signed in before. Wrong guesses by others count against an address and
 * a person; a known browser has its own count, so that attackers cannot lock members out.
 */
import type { Queries, Row } from '../state/database.ts'
import { hashToken, newToken } from './token.ts'

const keptDays = 180
const maxPerMember = 10

/** Whether this browser is known for a member with this address. */
export async function isKnownBrowser(
  database: Queries,
  token: string,
  memberId: string,
): Promise<boolean> {
  const rows = await database.query<Row>(
    `select 1 from known_browsers where token_hash = $1 and member_id = $2
       and seen_at > now() - make_interval(days => ${keptDays})`,
    [hashToken(token), memberId],
  )
  return rows.length === 1
}

/** Returns the token that the browser keeps from now on. */
export async function rememberBrowser(queries: Queries, memberId: string): Promise<string> {
  const token = newToken()
  await queries.query('insert into known_browsers (token_hash, member_id) values ($1, $2)', [
    hashToken(token),
    memberId,
  ])
  await queries.query(
    `delete from known_browsers where member_id = $1 and token_hash not in (
       select token_hash from known_browsers where member_id = $1
       order by seen_at desc, token_hash limit ${maxPerMember})`,
    [memberId],
  )
  return token
}

export async function seeBrowserAgain(queries: Queries, token: string): Promise<void> {
  await queries.query('update known_browsers set seen_at = now() where token_hash = $1', [
    hashToken(token),
  ])
}
