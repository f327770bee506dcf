/** A database for tests of one part: a fresh embedded one with the whole schema. */
import { rmSync } from 'node:fs'
import type { Database } from '../state/database.ts'
import { openDatabase } from '../state/open-database.ts'
import { freshDataDir } from './test-data-dir.ts'

export async function openTestDatabase(): Promise<Database> {
  const directory = await freshDataDir()
  const database = await openDatabase({ kind: 'embedded', directory })
  return {
    ...database,
    async close() {
      await database.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
