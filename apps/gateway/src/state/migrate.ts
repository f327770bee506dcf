/** Migrates a database to the schema of this program. */
import { GatewayError } from '../gateway-error.ts'
import type { Database, Migration } from './database.ts'
import { migrations } from './migrations/index.ts'

/** Any constant that nothing else on the server uses as an advisory lock. */
const lockKey = 7_081_421_506

/**
 * Applies missing migrations in order, all in one transaction. Gateways that start together wait
 * for each other. A database from a newer program is refused rather than misread.
 */
export async function migrate(
  database: Database,
  wanted: readonly Migration[] = migrations,
): Promise<number> {
  return database.transaction(async ({ query, script }) => {
    await query('select pg_advisory_xact_lock($1)', [lockKey])
    await script(
      'create table if not exists schema_versions (version integer primary key, name text not null, applied_at timestamptz not null default now())',
    )
    const [row] = await query<{ version: number }>(
      'select coalesce(max(version), 0) as version from schema_versions',
    )
    const current = row?.version ?? 0
    if (current > wanted.length) {
      throw new GatewayError(
        'database_newer',
        `the database has schema ${current}, this gateway knows ${wanted.length}; update the gateway, or restore the backup taken before the upgrade`,
      )
    }
    for (const [index, migration] of wanted.entries()) {
      if (index < current) continue
      await script(migration.sql)
      await query('insert into schema_versions (version, name) values ($1, $2)', [
        index + 1,
        migration.name,
      ])
    }
    return wanted.length
  })
}
