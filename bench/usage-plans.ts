/**
 * How the queries about usage run on a real PostgreSQL with the usage of 100 million requests.
 *
 * The database fills itself: the hourly sums as they are after that many requests in a year, and as
 * many of the single requests as are asked for, the latest ones. 100 million of them take 13 GB, 3 GB
 * for each of two indexes and 5 for the other two, and as much again for a while as the largest of these.
 *
 * `bun bench/usage-plans.ts [--requests 100000000] [--rows 2000000] [--days 365] [--plans]`
 */
import { randomBytes } from 'node:crypto'
import type { UsageRecord } from '../apps/gateway/src/metering/usage-record.ts'
import { storeUsage } from '../apps/gateway/src/metering/usage-store.ts'
import type { Database, Queries } from '../apps/gateway/src/state/database.ts'
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

if (findPostgres() === undefined) console.log('skipped: there is no PostgreSQL here')
else await main()

async function main(): Promise<void> {
  const server = await startPostgres()
  try {
    // The schema comes first, then a session that may take its time.
    const url = `${server.url}?options=-c%20statement_timeout%3D0`
    const database = await openDatabase({ kind: 'server', url: server.url, connections: 2 })
    await database.close()
    const startedMs = performance.now()
    await fillUsage(await patientSession(url), wanted)
    const open = await openDatabase({ kind: 'server', url: server.url, connections: 2 })
    const [counts] = await open.query(
      `select (select count(*) from usage_hourly) as hourly,
         pg_size_pretty(pg_total_relation_size('usage_hourly')) as hourly_size,
         pg_size_pretty(pg_total_relation_size('usage')) as usage_size`,
    )
    const seconds = Math.round((performance.now() - startedMs) / 1000)
    console.log(
      `${wanted.requests} requests in ${wanted.days} days: ${counts?.hourly} hourly sums ` +
        `(${counts?.hourly_size}), ${wanted.rows} single requests (${counts?.usage_size}); ` +
        `filled in ${seconds} s\n`,
    )
    const middle = middleOf(wanted, new Date())
    await planUsage(open, new Date(), middle) // the second time shows what does not depend on a cold cache
    const plans = [...(await planUsage(open, new Date(), middle)), await planRetention(open)]
    printTable(plans)
    console.log(
      `\na batch of ${batch} requests is written, with all sums, in ${await writeMs(open)} ms`,
    )
    if (process.argv.includes('--plans')) {
      for (const { name, lines } of plans) console.log(`\n${name}\n${lines.join('\n')}`)
    }
    await open.close()
  } finally {
    await server.stop()
  }
}

/** Without a limit of time, and with memory for making indexes. */
async function patientSession(url: string): Promise<Queries> {
  const { Client } = await import('pg')
  return {
    query: async () => [],
    script: async (sql: string) => {
      const client = new Client({ connectionString: url })
      await client.connect()
      await client.query(`set maintenance_work_mem = '1GB'`)
      await client.query(sql)
      await client.end()
    },
  }
}

/** Taking the oldest day away, as an operator would; it is given back at once. */
async function planRetention(database: Database): Promise<UsagePlan> {
  const lines: string[] = []
  const undone = new Error('undone')
  await database
    .transaction(async (queries) => {
      const rows = await queries.query(
        `explain (analyze, buffers) delete from usage where started_at <
           (select min(started_at) from usage) + interval '1 day'`,
      )
      lines.push(...rows.map((row) => String(row['QUERY PLAN'])))
      throw undone
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error
    })
  return { name: 'retention: the oldest day is deleted', index: /usage_time/, lines }
}

/** The median of some batches as workers report them. */
async function writeMs(database: Database): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < 9; round++) {
    const records = Array.from(
      { length: batch },
      (_, index): UsageRecord => ({
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
    const pages = /Buffers: shared (?:hit=(\d+))?(?: read=(\d+))?/.exec(text)
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
