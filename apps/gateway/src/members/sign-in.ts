/** Signs members in by password, and slows down guessing. */
import { domainOf } from '../accounts/email-domains.ts'
import { hiddenAddress, recordStranger } from '../audit/audit-log.ts'
import { networkOf } from '../http/client-address.ts'
import type { Database, Row } from '../state/database.ts'
import type { HashLane, HashTurn } from './hash-queue.ts'
import { isKnownBrowser } from './known-browsers.ts'
import { findMember, type Member } from './member-store.ts'
import { enterHashing, verifyPassword, wrongPassword } from './password.ts'
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

/** A member, and the hash their password was checked against: it may have been replaced since. */
export type SignedIn = { readonly member: Member; readonly passwordHash: string }

const maxMatchingMembers = 4
/** An address may be shared, so it gets more attempts. */
const freeFailures = { person: 5, address: 50 } as const

/**
 * Returns the member, or a refusal that does not reveal whether the address exists. Cheap checks
 * come first, and the attempt is counted before the password is hashed.
 */
export async function signIn(database: Database, attempt: SignInAttempt): Promise<SignedIn> {
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
export function confirmPassword(
  database: Database,
  member: Member,
  attempt: Pick<SignInAttempt, 'password' | 'address'>,
): Promise<SignedIn> {
  const name = `member ${member.id}`
  return check(
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
    // All browsers of a member share one lane, or one person could take every slot.
    return { lane: { name: `member ${id}`, isKnown: true }, counted, memberId: id }
  }
  return undefined
}

async function check(
  database: Database,
  attempt: SignInAttempt,
  { lane, counted, memberId }: Standing,
): Promise<SignedIn> {
  const turn = enterHashing(lane)
  try {
    await admitAttempt(database, counted)
    const matching = await findMatchingMembers(database, attempt.email, memberId)
    const right = await findRight(matching, attempt.password, turn)
    if (right === undefined) {
      await keepFailure(database, counted)
      await recordFailure(database, attempt, matching)
      throw wrongPassword()
    }
    for (const { name, free } of counted) {
      // Failures of others at the same address still count. So do those for a namesake in another
      // account: that account's admin, who knows one of the passwords, could clear the count at will.
      if (free === freeFailures.address || matching.length > 1) await takeBack(database, name)
      else await forgetFailures(database, name)
    }
    return { member: await findMember(database, right.id), passwordHash: right.passwordHash }
  } finally {
    turn.end()
  }
}

/**
 * With namesakes in several accounts it is unknown who was meant. Each account sees the failure, but
 * only operators see where it came from: it may have been somebody else's member.
 */
async function recordFailure(
  database: Database,
  { email, address }: SignInAttempt,
  matching: readonly MatchingMember[],
): Promise<void> {
  const network = networkOf(address)
  const record = (member: MatchingMember | undefined, from: string) =>
    recordStranger(database, 'sign_in.failed', from, {
      accountId: member?.account_id ?? null,
      id: member?.id ?? null,
      name: email,
    })
  if (matching.length <= 1) return record(matching[0], network)
  await record(undefined, network)
  for (const member of matching) await record(member, hiddenAddress)
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
): Promise<{ readonly id: string; readonly passwordHash: string } | undefined> {
  if (matching.length === 0) await verifyPassword(password, undefined, turn)
  for (const { id, password_hash: passwordHash } of matching) {
    const isRight = await verifyPassword(password, passwordHash, turn)
    if (isRight && passwordHash !== null) return { id, passwordHash }
  }
  return undefined
}
