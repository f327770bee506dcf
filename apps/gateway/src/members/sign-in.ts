/** Signs people in by password, and slows down who guesses. */
import { ApiError } from '@privatemode/protocol/api'
import { recordStranger } from '../audit/audit-log.ts'
import { networkOf } from '../http/client-address.ts'
import type { Database, Queries, Row } from '../state/database.ts'
import { findMember, type Member } from './member-store.ts'
import { verifyPassword } from './password.ts'

export type SignInAttempt = {
  readonly email: string
  readonly password: string
  /** Where the attempt comes from. */
  readonly address: string
}

/** After so many failures a subject waits, twice as long each time. An address may be shared. */
const freeFailures = { person: 5, address: 50 } as const
const firstLockSeconds = 30
const longestLockSeconds = 900
const forgetMinutes = 60

/** The member, or a refusal that does not tell whether the address exists. */
export async function signIn(database: Database, attempt: SignInAttempt): Promise<Member> {
  const person = `person ${attempt.email.toLowerCase()}`
  const address = `address ${networkOf(attempt.address)}`
  await refuseLocked(database, [person, address])
  const [row] = await database.query<Candidate>(
    `select m.id, m.account_id, m.password_hash from members m join accounts a on a.id = m.account_id
     where lower(m.email) = lower($1) and m.disabled_at is null and a.disabled_at is null`,
    [attempt.email],
  )
  if (!(await verifyPassword(attempt.password, row?.password_hash)) || row === undefined) {
    await countFailure(database, person, freeFailures.person)
    await countFailure(database, address, freeFailures.address)
    await recordStranger(database, 'sign_in.failed', networkOf(attempt.address), {
      accountId: row?.account_id ?? null,
      id: row?.id ?? null,
      name: attempt.email,
    })
    throw wrong()
  }
  await database.query('delete from sign_in_failures where subject = $1', [person])
  return findMember(database, row.id)
}

async function refuseLocked(database: Queries, subjects: readonly string[]): Promise<void> {
  const [row] = await database.query<{ seconds: number } & Row>(
    `select extract(epoch from max(locked_until) - now())::float8 as seconds
     from sign_in_failures where subject in ($1, $2) and locked_until > now()
     having max(locked_until) is not null`,
    [...subjects],
  )
  if (row === undefined) return
  throw new ApiError('rate_limit_exceeded', 'too many failed attempts; wait before the next one', {
    retryAfterSeconds: Math.max(1, Math.ceil(row.seconds)),
  })
}

async function countFailure(database: Queries, subject: string, free: number): Promise<void> {
  await database.query(
    `insert into sign_in_failures as f (subject, failures, last_at) values ($1, 1, now())
     on conflict (subject) do update set
       failures = case when f.last_at < now() - make_interval(mins => ${forgetMinutes})
         then 1 else f.failures + 1 end,
       last_at = now()`,
    [subject],
  )
  await database.query(
    `update sign_in_failures set locked_until = now() + make_interval(secs =>
       least(${longestLockSeconds}, ${firstLockSeconds} * power(2, least(20, failures - $2::int))))
     where subject = $1 and failures >= $2`,
    [subject, free],
  )
  await database.query(
    `delete from sign_in_failures where last_at < now() - make_interval(mins => ${forgetMinutes})`,
  )
}

type Candidate = Row & { id: string; account_id: string; password_hash: string | null }

/** One answer for a wrong password, an unknown address, and a member or account that is disabled. */
function wrong(): ApiError {
  return new ApiError('permission_denied', 'address or password is wrong', { status: 401 })
}
