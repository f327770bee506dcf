/** Opens the configured database and migrates its schema. */
import type { Database, DatabaseHome, OnLost } from './database.ts'
import { openEmbeddedDatabase } from './embedded-database.ts'
import { migrate } from './migrate.ts'
import { openServerDatabase } from './server-database.ts'

export async function openDatabase(home: DatabaseHome, onLost?: OnLost): Promise<Database> {
  const database = await openHome(home, onLost)
  try {
    await migrate(database)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

function openHome(home: DatabaseHome, onLost: OnLost | undefined): Promise<Database> {
  switch (home.kind) {
    case 'embedded':
      return openEmbeddedDatabase(home.directory, onLost)
    case 'server':
      return openServerDatabase(home.url, home.connections)
  }
}
