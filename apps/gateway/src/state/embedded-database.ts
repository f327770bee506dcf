/**
 * The embedded default: PGlite in a directory.
 *
 * An acknowledged write survives `kill -9`: the write-ahead log is written before a commit returns.
 * PGlite cannot flush a disk's cache, so a power failure may lose the last writes; operators who
 * need more run PostgreSQL.
 */
import { join } from 'node:path'
import { PGlite, types } from '@electric-sql/pglite'
import { closeToOthers } from './close-to-others.ts'
import { lockDataDirectory } from './data-lock.ts'
import type { Database, Queries, Row } from './database.ts'

export async function openEmbeddedDatabase(directory: string): Promise<Database> {
  closeToOthers(directory)
  const lock = lockDataDirectory(directory)
  try {
    const pglite = await PGlite.create(join(directory, 'pglite'), {
      relaxedDurability: false,
      parsers: { [types.INT8]: Number, [types.NUMERIC]: Number },
    })
    // PGlite sets its own mode on a few files it creates at start and end, ignoring the umask.
    closeToOthers(directory)
    return {
      ...queriesOf(pglite),
      transaction: (work) => pglite.transaction((inner) => work(queriesOf(inner))),
      close: async () => {
        await pglite.close()
        closeToOthers(directory)
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

type Statements = Pick<PGlite, 'query' | 'exec'>

function queriesOf(statements: Statements): Queries {
  return {
    async query<R extends Row>(sql: string, values: readonly unknown[] = []) {
      const { rows } = await statements.query<R>(sql, [...values])
      // PGlite runs on this thread: let the sockets run between two queries.
      await new Promise((resolve) => setImmediate(resolve))
      return rows
    },
    script: async (sql) => {
      await statements.exec(sql)
    },
  }
}
