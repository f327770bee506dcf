/**
 * How usage queries run on a real PostgreSQL with the usage of 100 million requests.
 *
 * The database fills itself: the hourly sums as they are after that many requests in a year, and as
 * many of the single requests as are asked for, the latest ones. All 100 million of them take some
 * 30 GB with their indexes, and as much again for a while as the largest index; `TMPDIR` says where.
 *
 * `bun bench/usage-plans.ts [--requests 100000000] [--rows 2000000] [--days 365] [--plans]`; with
 * `--url` a database is asked that was filled with the same numbers before.
 */
import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import type { UsageRecord } from '../apps/gateway/src/metering/usage-record.ts'
import { storeUsage } from '../apps/gateway/src/metering/usage-store.ts'
import type { Database, Queries, Row } from '../apps/gateway/src/state/database.ts'
import { openDatabase } from '../apps/gateway/src/state/open-database.ts'
import { findPostgres, startPostgres } from '../apps/gateway/src/testing/postgres-server.ts'
import {
  fillUsage,
  middleOf,
  syntheticAccounts,
} from '../apps/gateway/src/testing/synthetic-usage.ts'
import { planUsage, type UsagePlan } from '../apps/gateway/src/testing/usage-plans.ts'

const batch = 500
const wanted = {
  requests: Number(optionOf('requests') ?? 100_000_000),
  rows: Number(optionOf('rows') ?? 2_000_000),
  days: Number(optionOf('days') ?? 365),
}

const filledUrl = optionOf('url')

if (filledUrl !== undefined) await ask(filledUrl)
else if (findPostgres() === undefined) console.log('skipped: there is no PostgreSQL here')
else await fillAndAsk()

async function fillAndAsk(): Promise<void> {
  const server = await startPostgres()
  try {
    const startedMs = performance.now()
    // The schema comes first, then a session without a time limit.
    const database = await openDatabase({ kind: 'server', url: server.url, connections: 2 })
    await database.close()
    await fillUsage(patientSession(server.url), wanted)
    console.log(`filled in ${Math.round((performance.now() - startedMs) / 1000)} s`)
    await ask(server.url)
  } finally {
    await server.stop()
  }
}

async function ask(url: string): Promise<void> {
  const open = await openDatabase({ kind: 'server', url, connections: 2 })
  const [counts] = await open.query(
    `select (select count(*) from usage_hourly) as hourly, version(),
       pg_size_pretty(pg_total_relation_size('usage_hourly')) as hourly_size,
       pg_size_pretty(pg_relation_size('usage')) as rows_size,
       pg_size_pretty(pg_indexes_size('usage')) as indexes_size`,
  )
  console.log(
    `${wanted.requests} requests in ${wanted.days} days: ${counts?.hourly} hourly sums ` +
      `(${counts?.hourly_size}), ${wanted.rows} single requests (${counts?.rows_size}, indexes ` +
      `${counts?.indexes_size}); ${String(counts?.version).split(' on ')[0]}\n`,
  )
  const middle = middleOf(wanted, new Date())
  const asking = { ...open, ...patientSession(url) }
  await planUsage(asking, new Date(), middle) // the second time shows what does not depend on a cold cache
  const plans = [...(await planUsage(asking, new Date(), middle)), await planRetention(url)]
  printTable(plans)
  console.log(
    `\na batch of ${batch} requests is written, with all sums, in ${await writeMs(open)} ms`,
  )
  if (process.argv.includes('--plans')) {
    for (const { name, lines } of plans) console.log(`\n${name}\n${lines.join('\n')}`)
  }
  await open.close()
}

/** Without a time limit, and with memory for creating indexes: one session per query. */
function patientSession(url: string): Queries {
  const ask = async (sql: string, values?: readonly unknown[]) => {
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query(`set maintenance_work_mem = '2GB'`)
    // Several statements go without values only.
    const answer = await client.query(sql, values === undefined ? undefined : [...values])
    await client.end()
    return answer
  }
  return {
    query: async <R extends Row>(sql: string, values: readonly unknown[] = []) =>
      (await ask(sql, values)).rows as R[],
    script: async (sql: string) => void (await ask(sql)),
  }
}

/** Deletes the oldest day, as an operator would, and restores it at once. */
async function planRetention(url: string): Promise<UsagePlan> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('begin')
  const oldest = await client.query<{ day: Date }>(
    `select min(started_at) + interval '1 day' as day from usage`,
  )
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(
    'explain (analyze, buffers) delete from usage where started_at < $1',
    [oldest.rows[0]?.day],
  )
  await client.query('rollback')
  await client.end()
  const lines = rows.map((row) => row['QUERY PLAN'])
  return { name: 'retention: the oldest day is deleted', index: /usage_time/, lines }
}

/** The median of some batches as workers report them. */
async function writeMs(database: Database): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < 9; round++) {
    const records = Array.from(
      { length: batch },
      (_, index): UsageRecord => ({
        admissionId: randomBytes(16).toString('hex'),
        requestId: randomBytes(16).toString('hex'),
        startedAtMs: Date.now() - index,
        keyId: `key_${1 + (index % syntheticAccounts)}_${1 + (index % 4)}`,
        ...{ workerId: 'w_1', model: 'model-1', path: '/v1/chat/completions' },
        ...{ outcome: 'complete', status: 200, durationMs: 2500 },
        ...{ promptTokens: 800, cachedTokens: 300, completionTokens: 250 },
      }),
    )
    const startedMs = performance.now()
    const { stored } = await storeUsage(database, records)
    if (stored !== batch) throw new Error(`${stored} of ${batch} requests were stored`)
    times.push(performance.now() - startedMs)
  }
  return Math.round(times.toSorted((a, b) => a - b)[4] ?? 0)
}

function printTable(plans: readonly UsagePlan[]): void {
  console.log('| query | ms | pages | how |\n|---|---|---|---|')
  for (const { name, lines } of plans) {
    const text = lines.join('\n')
    const ms = Number(/Execution Time: ([\d.]+)/.exec(text)?.[1])
    const pages = /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/.exec(text)
    const scans = [...text.matchAll(/(\w[\w ]*Scan)(?: Backward)? (?:using (\w+) )?on (\w+)/g)]
    const how = scans.map(([, scan, index, table]) => `${scan} ${index ?? table}`).join(', ')
    console.log(
      `| ${name} | ${ms.toFixed(1)} | ${Number(pages?.[1] ?? 0) + Number(pages?.[2] ?? 0)} | ${how} |`,
    )
  }
}

function optionOf(name: string): string | undefined {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? undefined : process.argv[at + 1]
}
