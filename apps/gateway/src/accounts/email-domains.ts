/** E-mail domains that operators assigned to accounts: no other account may use addresses in them. */
import { ApiError } from '@privatemode/protocol/api'
import type { Queries, Row } from '../state/database.ts'

export const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1)

/**
 * Whether an address can pass for another: some databases lower-case two letters to i and k, JavaScript
 * does not, so failed sign-ins would be counted for no account; and some characters are invisible or
 * reverse text.
 */
export const looksLikeAnother = (email: string): boolean => /[\u0130\u212a\p{Cf}]/u.test(email)

/** Throws if the address is in a domain of another account. */
export async function refuseForeignDomain(
  queries: Queries,
  accountId: string,
  email: string,
): Promise<void> {
  const rows = await queries.query<Row>(
    'select 1 from account_domains where domain = lower($1) and account_id <> $2',
    [domainOf(email), accountId],
  )
  if (rows.length === 0) return
  const message = `addresses at ${domainOf(email)} belong to another account`
  throw new ApiError('permission_denied', message, { param: 'email' })
}

/** Replaces the account's domains; a domain of another account is refused. */
export async function setDomains(
  queries: Queries,
  accountId: string,
  domains: readonly string[],
): Promise<void> {
  await queries.query('delete from account_domains where account_id = $1', [accountId])
  const added = await queries.query<Row>(
    `insert into account_domains (domain, account_id)
     select distinct d, a.id from jsonb_array_elements_text($2::jsonb) as d, accounts a where a.id = $1
     on conflict do nothing returning domain`,
    [accountId, JSON.stringify(domains)],
  )
  if (added.length === new Set(domains).size) return
  throw new ApiError('invalid_value', 'another account has one of these domains', {
    param: 'email_domains',
    status: 409,
  })
}
