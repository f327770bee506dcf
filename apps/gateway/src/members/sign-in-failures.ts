/** Counts sign-in attempts and throttles subjects: a person, a network or a known browser. */
import { ApiError } from '@privatemode/protocol/api'
import type { Database, Queries, Row } from '../state/database.ts'

export type CountedSubject = {
  readonly name: string
  /** After this many failures it must wait, twice as long each time. */
  readonly free: number
}

const firstLockSeconds = 30
const longestLockSeconds = 900
const forgetMinutes = 60

/**
 * Counts an attempt as failed before it is tried, so that concurrent attempts cannot outrun the
 * count. Throws if a subject has to wait; then nothing was counted.
 */
export async function admitAttempt(
  database: Database,
  subjects: readonly CountedSubject[],
): Promise<void> {
  const next = `case when f.last_at < now() - make_interval(mins => ${forgetMinutes})
    then 1 else f.failures + 1 end`
  await database.transaction(async (queries) => {
    for (const { name, free } of subjects) {
      const admitted = await queries.query(
        `insert into sign_in_failures as f (subject, failures, last_at) values ($1, 1, now())
         on conflict (subject) do update set failures = ${next}, last_at = now(),
           locked_until = ${lockUntil(`(${next})`)}
         where f.locked_until is null or f.locked_until <= now() returning 1`,
        [name, free],
      )
      if (admitted.length === 0) throw await waitError(queries, name)
    }
  })
}

/** The attempt did fail: a subject that must wait does so from now on. */
export async function keepFailure(
  database: Database,
  subjects: readonly CountedSubject[],
): Promise<void> {
  for (const { name, free } of subjects) {
    await database.query(
      `update sign_in_failures as f set locked_until = ${lockUntil('f.failures')} where subject = $1`,
      [name, free],
    )
  }
  await database.query(
    `delete from sign_in_failures where last_at < now() - make_interval(mins => ${forgetMinutes})`,
  )
}

/** The attempt succeeded: it does not count. */
export async function takeBack(queries: Queries, name: string): Promise<void> {
  await queries.query('delete from sign_in_failures where subject = $1 and failures <= 1', [name])
  await queries.query(
    'update sign_in_failures set failures = failures - 1, locked_until = null where subject = $1',
    [name],
  )
}

/** Clears the failures of a subject that signed in. */
export async function forgetFailures(queries: Queries, name: string): Promise<void> {
  await queries.query('delete from sign_in_failures where subject = $1', [name])
}

/** `$2` is the number of free failures. */
const lockUntil = (failures: string) =>
  `case when ${failures} >= $2::int then now() + make_interval(secs => least(${longestLockSeconds},
     ${firstLockSeconds} * power(2, least(20, ${failures} - $2::int)))) end`

async function waitError(queries: Queries, name: string): Promise<ApiError> {
  const [row] = await queries.query<{ seconds: number } & Row>(
    `select extract(epoch from locked_until - now())::float8 as seconds
     from sign_in_failures where subject = $1`,
    [name],
  )
  const message = 'too many failed attempts; wait before the next one'
  return new ApiError('rate_limit_exceeded', message, {
    retryAfterSeconds: Math.max(1, Math.ceil(row?.seconds ?? 1)),
  })
}
