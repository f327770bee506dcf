/** Closes a data directory to other users of the machine: folders 0700, files 0600, whatever they were before. */
import { chmodSync, lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { GatewayError } from '../gateway-error.ts'

/**
 * Makes the directory where it is missing. From here on this process makes files for its own user only: an
 * embedded database makes new ones at any time, with whatever rights it is left.
 */
export function closeToOthers(directory: string): void {
  process.umask(0o077)
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    closeFolder(directory)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : 'unknown failure'
    const message = `cannot close the data directory ${directory} to other users: ${reason}`
    throw new GatewayError('data_dir_unsafe', message, { cause })
  }
}

function closeFolder(folder: string): void {
  chmodSync(folder, 0o700)
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const entry = lstatSync(path) // a link's target is not ours to change
    if (entry.isDirectory()) closeFolder(path)
    else if (entry.isFile() && (entry.mode & 0o777) !== 0o600) chmodSync(path, 0o600)
  }
}
