/** A manifest log in a directory: any static web server that serves it is a manifest host. */
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { LogStore } from '@privatemode/attestation'
import { UsageError } from '../command.ts'

export const logFolder = (folder: string): LogStore => ({
  read: async (path) => {
    try {
      return new Uint8Array(await readFile(join(folder, path)))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  },
  write: (path, bytes) => writeWhole(join(folder, path), bytes),
})

/** Publishing takes moments: the owner of an older lock has died, and must not block publishing forever. */
const deadAfterMs = 10 * 60_000

/** Runs `work` while holding the publisher lock: two publishers at once could sign two histories. */
export async function withLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true }).catch((cause) => refuseUnwritable(folder, cause))
  const path = join(folder, '.publishing')
  const lockedAt = await stat(path).catch(() => undefined)
  if (lockedAt !== undefined && Date.now() - lockedAt.mtimeMs > deadAfterMs) {
    await rm(path, { force: true })
  }
  try {
    await (await open(path, 'wx')).close()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') return refuseUnwritable(folder, cause)
    throw new UsageError(`${path} exists: another publisher is at work; try again in ten minutes`)
  }
  try {
    return await work()
  } finally {
    await rm(path, { force: true })
  }
}

/** A volume that belongs to somebody else is the usual mistake in a cluster. */
function refuseUnwritable(folder: string, cause: unknown): never {
  const { code } = cause as NodeJS.ErrnoException
  if (code === undefined) throw cause
  const user = process.getuid?.()
  const who = user === undefined ? '' : ` as user ${user}`
  throw new UsageError(`cannot write to ${folder}${who}: ${code}; check its owner and mode`)
}

// Readers see the old file or the new one, even after a power failure.
async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const file = await open(`${path}.new`, 'w')
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
}
