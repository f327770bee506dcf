import { expect, test } from 'bun:test'
import { unlessMissing } from '@privatemode/service/testing'
import { thrown } from '../../../../test/rejection.ts'
import { migrations } from '../state/migrations/index.ts'
import { openServerDatabase } from '../state/server-database.ts'
import { missingPostgres, startPostgres } from '../testing/postgres-server.ts'
import { runMigrate } from './migrate-command.ts'

test('without a database server there is nothing to migrate', async () => {
  expect(await thrown(runMigrate([], {}, () => {}))).toThrow('--databaseUrl is missing')
})

unlessMissing(missingPostgres()).test(
  'a new database gets the schema, and a second time nothing happens',
  async () => {
    const server = await startPostgres()
    try {
      const printed: string[] = []
      const print = (text: string) => void printed.push(text)
      expect(await runMigrate(['--databaseUrl', server.url], {}, print)).toBe(0)
      expect(await runMigrate([], { DATABASE_URL: server.url }, print)).toBe(0)
      const said = `{"schema":${migrations.length}}\n`
      expect(printed).toEqual([said, said])
      const database = await openServerDatabase(server.url, 2)
      const rows = await database.query('select version from schema_versions')
      await database.close()
      expect(rows).toHaveLength(migrations.length)
    } finally {
      await server.stop()
    }
  },
)
