/** Keeps a second process away from an embedded database, which two writers would destroy. */
import { Database as LockFile } from 'bun:sqlite'
import { join } from 'node:path'
import { GatewayError } from '../gateway-error.ts'

export type DataLock = { release(): void }

/**
 * Takes the lock or throws. SQLite is used for its file lock alone: the kernel gives it up when the
 * process dies, however it dies, where a file with a process id would go stale.
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
