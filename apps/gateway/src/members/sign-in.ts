/** Signs members in by password, and slows down guessing. */
import { ApiError } from '@privatemode/protocol/api'
import { domainOf } from '../accounts/email-domains.ts'
import { recordStranger } from '../audit/audit-log.ts'
import { networkOf } from '../http/client-address.ts'
import type { Database, Row } from '../state/database.ts'
import type { HashLane, HashTurn } from './hash-queue.ts'
import { isKnownBrowser } from './known-browsers.ts'
import { findMember, type Member } from './member-store.ts'
import { enterHashing, verifyPassword } from './password.ts'
import {
  admitAttempt,
  type CountedSubject,
  forgetFailures,
  keepFailure,
  takeBack,
} from './sign-in-failures.ts'
import { hashToken } from './token.ts'

export type SignInAttempt = {
  readonly email: string
  readonly password: string
  /** The address the attempt comes from. */
  readonly address: string
  /** The token the browser kept from an earlier sign-in. */
  readonly browserToken: string | undefined
}

const maxMatchingMembers = 4
/** An address may be shared, so it gets more attempts. */
const freeFailures = { person: 5, address: 50 } as const

/**
 * Returns the member, or a refusal that does not reveal whether the address exists. Cheap checks
 * come first, and the attempt is counted before the password is hashed.
 */
export async function signIn(database: Database, attempt: SignInAttempt): Promise<Member> {
  const network = networkOf(attempt.address)
  const browserToken = attempt.browserToken
  const known =
    browserToken === undefined ? undefined : await findKnown(database, attempt.email, browserToken)
  if (known !== undefined) return check(database, attempt, known)
  return check(database, attempt, {
    lane: { name: `address ${network}`, isKnown: false },
    memberId: undefined,
    counted: [
      { name: `address ${network}`, free: freeFailures.address },
      { name: `person ${attempt.email.toLowerCase()}`, free: freeFailures.person },
    ],
  })
}

/** Whether a signed-in member knows their own password; attempts by others do not interfere. */
export async function confirmPassword(
  database: Database,
  member: Member,
  attempt: Pick<SignInAttempt, 'password' | 'address'>,
): Promise<void> {
  const name = `member ${member.id}`
  await check(
    database,
    { ...attempt, email: member.email, browserToken: undefined },
    {
      lane: { name, isKnown: true },
      counted: [{ name, free: freeFailures.person }],
      memberId: member.id,
    },
  )
}

type Standing = {
  readonly lane: HashLane
  readonly counted: readonly CountedSubject[]
  /** Set if only this member can be meant. */
  readonly memberId: string | undefined
}

async function findKnown(
  database: Database,
  email: string,
  browserToken: string,
): Promise<Standing | undefined> {
  for (const { id } of await findMatchingMembers(database, email)) {
    if (!(await isKnownBrowser(database, browserToken, id))) continue
    const name = `browser ${hashToken(browserToken).toString('base64url')}`
    const counted = [{ name, free: freeFailures.person }]
    return { lane: { name, isKnown: true }, counted, memberId: id }
  }
  return undefined
}

async function check(
  database: Database,
  attempt: SignInAttempt,
  { lane, counted, memberId }: Standing,
): Promise<Member> {
  const turn = enterHashing(lane)
  try {
    await admitAttempt(database, counted)
    const matching = await findMatchingMembers(database, attempt.email, memberId)
    const row = await findRight(matching, attempt.password, turn)
    if (row === undefined) {
      const [first] = matching
      await keepFailure(database, counted)
      await recordStranger(database, 'sign_in.failed', networkOf(attempt.address), {
        accountId: first?.account_id ?? null,
        id: first?.id ?? null,
        name: attempt.email,
      })
      throw wrong()
    }
    for (const { name, free } of counted) {
      // Failures of others at the same address still count.
      if (free === freeFailures.address) await takeBack(database, name)
      else await forgetFailures(database, name)
    }
    return await findMember(database, row.id)
  } finally {
    turn.end()
  }
}

type MatchingMember = Row & { id: string; account_id: string; password_hash: string | null }

/** Almost always one. Several accounts can have a member with one address, each with its own password. */
async function findMatchingMembers(
  database: Database,
  email: string,
  memberId?: string,
): Promise<MatchingMember[]> {
  return database.query<MatchingMember>(
    `select m.id, m.account_id, m.password_hash
     from members m join accounts a on a.id = m.account_id
       left join account_domains d on d.domain = lower($3) and d.account_id = m.account_id
     where lower(m.email) = lower($1) and m.disabled_at is null and a.disabled_at is null
       and ($2::text is null or m.id = $2)
     order by d.domain is null, m.created_at, m.id limit ${maxMatchingMembers}`,
    [email, memberId ?? null, domainOf(email)],
  )
}

/** Unknown addresses take as long as known ones, so timing does not reveal accounts. */
async function findRight(
  matching: readonly MatchingMember[],
  password: string,
  turn: HashTurn,
): Promise<MatchingMember | undefined> {
  if (matching.length === 0) await verifyPassword(password, undefined, turn)
  for (const member of matching) {
    if (await verifyPassword(password, member.password_hash, turn)) return member
  }
  return undefined
}

/** One answer for a wrong password, an unknown address, and a disabled member or account. */
function wrong(): ApiError {
  return new ApiError('permission_denied', 'address or password is wrong', { status: 401 })
}
