/** Signs people in by password, and slows down whoever guesses. */
import { ApiError } from '@privatemode/protocol/api'
import { recordStranger } from '../audit/audit-log.ts'
import { networkOf } from '../http/client-address.ts'
import type { Database, Row } from '../state/database.ts'
import type { HashLane } from './hash-queue.ts'
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
  /** Where the attempt comes from. */
  readonly address: string
  /** What the browser kept of an earlier sign-in. */
  readonly browserToken: string | undefined
}

/** An address may be shared, so it gets more. */
const freeFailures = { person: 5, address: 50 } as const

/**
 * The member, or a refusal that does not tell whether the address exists. Cheap checks come first,
 * and the attempt is counted before the password is hashed.
 */
export async function signIn(database: Database, attempt: SignInAttempt): Promise<Member> {
  const network = networkOf(attempt.address)
  const browserToken = attempt.browserToken
  const known =
    browserToken === undefined ? undefined : await findKnown(database, attempt.email, browserToken)
  if (known !== undefined) return check(database, attempt, known)
  return check(database, attempt, {
    lane: { name: `address ${network}`, isKnown: false },
    counted: [
      { name: `address ${network}`, free: freeFailures.address },
      { name: `person ${attempt.email.toLowerCase()}`, free: freeFailures.person },
    ],
  })
}

/** Whether somebody who is signed in knows the own password: strangers cannot get in the way. */
export async function confirmPassword(
  database: Database,
  member: Member,
  attempt: Pick<SignInAttempt, 'password' | 'address'>,
): Promise<void> {
  const name = `member ${member.id}`
  await check(
    database,
    { ...attempt, email: member.email, browserToken: undefined },
    { lane: { name, isKnown: true }, counted: [{ name, free: freeFailures.person }] },
  )
}

type Standing = { readonly lane: HashLane; readonly counted: readonly CountedSubject[] }

async function findKnown(
  database: Database,
  email: string,
  browserToken: string,
): Promise<Standing | undefined> {
  const candidate = await findCandidate(database, email)
  if (candidate === undefined) return undefined
  if (!(await isKnownBrowser(database, browserToken, candidate.id))) return undefined
  const name = `browser ${hashToken(browserToken).toString('base64url')}`
  return { lane: { name, isKnown: true }, counted: [{ name, free: freeFailures.person }] }
}

async function check(
  database: Database,
  attempt: SignInAttempt,
  { lane, counted }: Standing,
): Promise<Member> {
  const turn = enterHashing(lane)
  try {
    await admitAttempt(database, counted)
    const row = await findCandidate(database, attempt.email)
    if (!(await verifyPassword(attempt.password, row?.password_hash, turn)) || row === undefined) {
      await keepFailure(database, counted)
      await recordStranger(database, 'sign_in.failed', networkOf(attempt.address), {
        accountId: row?.account_id ?? null,
        id: row?.id ?? null,
        name: attempt.email,
      })
      throw wrong()
    }
    for (const { name, free } of counted) {
      // What others do at the same address still counts.
      if (free === freeFailures.address) await takeBack(database, name)
      else await forgetFailures(database, name)
    }
    return await findMember(database, row.id)
  } finally {
    turn.end()
  }
}

type Candidate = Row & { id: string; account_id: string; password_hash: string | null }

async function findCandidate(database: Database, email: string): Promise<Candidate | undefined> {
  const [row] = await database.query<Candidate>(
    `select m.id, m.account_id, m.password_hash
     from members m join accounts a on a.id = m.account_id
     where lower(m.email) = lower($1) and m.disabled_at is null and a.disabled_at is null`,
    [email],
  )
  return row
}

/** One answer for a wrong password, an unknown address, and a member or account that is disabled. */
function wrong(): ApiError {
  return new ApiError('permission_denied', 'address or password is wrong', { status: 401 })
}
