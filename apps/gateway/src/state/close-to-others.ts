/** Restricts a data directory to its owner: directories 0700, files 0600, whatever they were before. */
import { chmodSync, lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { GatewayError } from '../gateway-error.ts'

/**
 * Creates the directory if it is missing. From then on, this process creates files for its own user
 * only: an embedded database creates new ones at any time, with whatever mode it is left with.
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
    const entry = lstatSync(path) // never change a link's target
    if (entry.isDirectory()) closeFolder(path)
    else if (entry.isFile() && (entry.mode & 0o777) !== 0o600) chmodSync(path, 0o600)
  }
}
