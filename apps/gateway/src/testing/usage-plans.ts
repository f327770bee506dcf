/** Shows the database's query plan for each usage query. */

import { TokenBooks } from '../limits/token-books.ts'
import { ExpectedUsage } from '../metering/expected-usage.ts'
import { listRequests, sumUsage, type UsageRange } from '../metering/usage-query.ts'
import type { Database, Queries, Row } from '../state/database.ts'
import { syntheticAccount, syntheticKey } from './synthetic-usage.ts'

export type UsagePlan = {
  readonly name: string
  /** The index that makes it fast, or either of two: the planner decides by the data. */
  readonly index: RegExp
  readonly lines: readonly string[]
}

type UsageQuestion = {
  readonly name: string
  readonly index: RegExp
  readonly ask: (queries: Database) => Promise<unknown>
}

const dayMs = 86_400_000

/** `middle` is a time with single requests before and after it. */
export async function planUsage(database: Database, now: Date, middle: Date): Promise<UsagePlan[]> {
  const plans: UsagePlan[] = []
  for (const { name, index, ask } of questions(now, middle)) {
    const lines: string[] = []
    await ask(explaining(database, lines))
    plans.push({ name, index, lines })
  }
  return plans
}

/** The queries of the portal, the admin API, its export, the limits and the metering. */
function questions(now: Date, middle: Date): UsageQuestion[] {
  const range = (days: number, accountId?: string, keyId?: string): UsageRange => ({
    accountId,
    keyId,
    from: new Date(now.getTime() - days * dayMs),
    to: now,
  })
  const cursor = { startedAt: middle, admissionId: '8'.repeat(32) }
  const clock = () => performance.now()
  return [
    {
      name: 'portal: an account, a day by the hour and model',
      index: /usage_hourly_(pkey|hour)/,
      ask: (all) => sumUsage(all, range(1, syntheticAccount), 'hour', ['model']),
    },
    {
      name: 'portal: an account, 90 days by the day and key',
      index: /usage_hourly_(pkey|hour)/,
      ask: (all) => sumUsage(all, range(90, syntheticAccount), 'day', ['key']),
    },
    {
      name: 'portal: all accounts, 30 days by the day and model',
      index: /usage_hourly_hour/,
      ask: (all) => sumUsage(all, range(30), 'day', ['model']),
    },
    {
      name: 'portal: an account, 12 months by the month and model',
      index: /usage_hourly_(pkey|hour)/,
      ask: (all) => sumUsage(all, range(365, syntheticAccount), 'month', ['model']),
    },
    {
      name: 'portal: all accounts, 12 months by the month and key',
      index: /usage_hourly_(pkey|hour)/,
      ask: (all) => sumUsage(all, range(365), 'month', ['key']),
    },
    {
      name: 'admin: one key, 30 days in one sum',
      index: /usage_hourly_(pkey|hour)/,
      ask: (all) => sumUsage(all, range(30, syntheticAccount, syntheticKey), 'all', []),
    },
    {
      name: 'list and CSV: an account, a page in the middle',
      index: /usage_account_time/,
      ask: (all) => listRequests(all, range(365, syntheticAccount), cursor, 1000),
    },
    {
      name: 'list and CSV: an account, the first page',
      index: /usage_account_time/,
      ask: (all) => listRequests(all, range(365, syntheticAccount), undefined, 1000),
    },
    {
      name: 'list and CSV: one key, a page in the middle',
      index: /usage_key_time/,
      ask: (all) => listRequests(all, range(365, undefined, syntheticKey), cursor, 1000),
    },
    {
      name: 'list and CSV: one key of an account, a page in the middle',
      index: /usage_(account|key)_time/,
      ask: (all) => listRequests(all, range(365, syntheticAccount, syntheticKey), cursor, 1000),
    },
    {
      name: 'list and CSV: all accounts, the first page',
      index: /usage_time/,
      ask: (all) => listRequests(all, range(365), undefined, 1000),
    },
    {
      name: 'list and CSV: all accounts, a page in the middle',
      index: /usage_time/,
      ask: (all) => listRequests(all, range(365), cursor, 1000),
    },
    {
      name: 'limits: mean of the last 20 requests of a key',
      index: /usage_key_time/,
      ask: async (all) => new TokenBooks({ database: all, clock }).estimate(syntheticKey, 1000),
    },
    {
      name: 'metering: has a request been reported',
      index: /usage_pkey/,
      ask: (all) => askReported(all),
    },
  ]
}

async function askReported(database: Database): Promise<void> {
  const log = { debug() {}, info() {}, warn() {}, error() {}, flush() {} }
  const noStore = { ...database, transaction: () => Promise.resolve(undefined as never) }
  const expected = new ExpectedUsage({
    database: noStore,
    clock: () => performance.now(),
    graceMs: 0,
    log: log as never,
  })
  expected.expect({
    admissionId: '0'.repeat(32),
    requestId: '0'.repeat(32),
    workerId: 'w_0',
    keyId: syntheticKey,
    model: 'model-1',
    path: '/v1/chat/completions',
    startedAtMs: 0,
    durationMs: 0,
  })
  await expected.close()
}

/** Runs each query, returns no rows, and keeps the plan. */
function explaining(database: Database, lines: string[]): Database {
  const queries: Queries = {
    async query<R extends Row>(sql: string, values: readonly unknown[] = []): Promise<R[]> {
      const rows = await database.query(`explain (analyze, buffers) ${sql}`, values)
      lines.push(...rows.map((row) => String(row['QUERY PLAN'])))
      return []
    },
    script: (sql) => database.script(sql),
  }
  return { ...database, ...queries }
}
