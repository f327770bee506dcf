/** Reads a file named by a setting; the error names the setting and the remedy. */
import { readFileSync } from 'node:fs'
import { ServiceError } from './service-error.ts'

export function readNamedFile(
  setting: string,
  path: string,
  remedy = 'check the path and its permissions',
): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    const message = `${setting} names ${path}, which cannot be read; ${remedy}`
    throw new ServiceError('file_unreadable', message, { cause })
  }
}
