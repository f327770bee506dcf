/**
 * How the queries about usage run on a real PostgreSQL with the usage of 100 million requests.
 *
 * The database fills itself: the hourly sums as they are after that many requests in a year, and as
 * many of the single requests as are asked for, the latest ones (100 million need 40 GB).
 *
 * `bun bench/usage-plans.ts [--requests 100000000] [--rows 2000000] [--days 365] [--plans]`
 */
import { openDatabase } from '../apps/gateway/src/state/open-database.ts'
import { findPostgres, startPostgres } from '../apps/gateway/src/testing/postgres-server.ts'
import { fillUsage, middleOf } from '../apps/gateway/src/testing/synthetic-usage.ts'
import { planUsage, type UsagePlan } from '../apps/gateway/src/testing/usage-plans.ts'

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
    await fillUsage(await sessionOf(url), wanted)
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
    const plans = await planUsage(open, new Date(), middle)
    printTable(plans)
    if (process.argv.includes('--plans')) {
      for (const { name, lines } of plans) console.log(`\n${name}\n${lines.join('\n')}`)
    }
    await open.close()
  } finally {
    await server.stop()
  }
}

/** One session without a limit of time, for filling. */
async function sessionOf(url: string) {
  const { Client } = await import('pg')
  const client = new Client({ connectionString: url })
  await client.connect()
  return {
    query: async () => [],
    script: async (sql: string) => {
      await client.query(sql)
      await client.end()
    },
  }
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
