/** Keeps a second process from opening an embedded database, which two writers would corrupt. */
import { Database as LockFile } from 'bun:sqlite'
import { join } from 'node:path'
import { GatewayError } from '../gateway-error.ts'

export type DataLock = { release(): void }

/**
 * Takes the lock or throws. SQLite is used only for its file lock: the kernel releases it when the
 * process dies for any reason, while a file with a process id would go stale.
 */
export function lockDataDirectory(directory: string): DataLock {
  const file = new LockFile(join(directory, 'gateway.lock'), { create: true })
  try {
    file.run('PRAGMA busy_timeout = 0')
    file.run('BEGIN EXCLUSIVE')
  } catch (cause) {
    file.close()
    throw new GatewayError(
      'data_dir_in_use',
      `another gateway uses the data directory ${directory}; stop it, or set DATABASE_URL to run several`,
      { cause },
    )
  }
  return { release: () => file.close() }
}
