/** State on a PostgreSQL server, shared by any number of gateways. */
import { Pool, type PoolClient, types } from 'pg'
import type { Database, Queries, Row } from './database.ts'
import { explainUnreachable } from './explain-unreachable.ts'

/** Well below `lateCommitMs`. */
const statementTimeoutMs = 30_000
/** The server's own timeout does not help if the server has vanished silently. */
const defaultSilenceMs = statementTimeoutMs + 2_000
const connectTimeoutMs = 5_000
const attempts = 4

export async function openServerDatabase(
  url: string,
  connections: number,
  silenceMs = defaultSilenceMs,
): Promise<Database> {
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: silenceMs,
    keepAlive: true,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    application_name: 'privatemode-gateway',
    types: { getTypeParser: typeParser },
  })
  // The pool replaces an idle connection that breaks; the next query reports lasting problems.
  pool.on('error', () => undefined)
  try {
    await pool.query('select 1')
  } catch (cause) {
    await pool.end()
    throw await explainUnreachable(url, cause)
  }
  return {
    ...queriesOf(pool),
    query: (sql, values) => retried(() => queriesOf(pool).query(sql, values)),
    transaction: (work) => inTransaction(pool, work),
    close: () => pool.end(),
  }
}

async function inTransaction<T>(pool: Pool, work: (queries: Queries) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const client = await pool.connect()
    // A connection that breaks between two queries reports it here; the next query fails and reports it.
    const ignore = () => undefined
    client.on('error', ignore)
    let broken = false
    try {
      await client.query('begin')
      const result = await work(queriesOf(client))
      await client.query('commit')
      return result
    } catch (error) {
      broken = !(await rolledBack(client))
      if (broken || attempt === attempts || !isTransient(error)) throw error
    } finally {
      client.off('error', ignore)
      client.release(broken)
    }
  }
}

/** A statement outside of a transaction is one by itself. */
async function retried<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask()
    } catch (error) {
      if (attempt === attempts || !isTransient(error)) throw error
    }
  }
}

async function rolledBack(client: PoolClient): Promise<boolean> {
  try {
    await client.query('rollback')
    return true
  } catch {
    return false // the connection is gone; the server rolls back by itself
  }
}

/** PostgreSQL asks for a retry: 40001 serialization_failure, 40P01 deadlock_detected. */
function isTransient(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : ''
  return code === '40001' || code === '40P01'
}

function queriesOf(client: Pick<Pool, 'query'>): Queries {
  return {
    query: async <R extends Row>(sql: string, values: readonly unknown[] = []) =>
      (await client.query<R>(sql, [...values])).rows,
    script: async (sql) => {
      await client.query(sql)
    },
  }
}

/** int8, count and sum are parsed as numbers: all of ours stay far below 2^53. */
function typeParser(oid: number, format?: 'text' | 'binary'): (text: never) => unknown {
  if (format !== 'binary' && (oid === types.builtins.INT8 || oid === types.builtins.NUMERIC)) {
    return Number
  }
  return types.getTypeParser(oid, format as 'text')
}
