/** A manifest log in a folder: any static web server that shows it is a manifest host. */
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

/** Publishing takes moments; whoever left a lock this old has died, and a timer must not stop for ever. */
const deadAfterMs = 10 * 60_000

/** Runs `work` while no other publisher may: two at once could sign two histories. */
export async function withLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true })
  const path = join(folder, '.publishing')
  const lockedAt = await stat(path).catch(() => undefined)
  if (lockedAt !== undefined && Date.now() - lockedAt.mtimeMs > deadAfterMs) {
    await rm(path, { force: true })
  }
  try {
    await (await open(path, 'wx')).close()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
    throw new UsageError(`${path} exists: another publisher is at work; try again in ten minutes`)
  }
  try {
    return await work()
  } finally {
    await rm(path, { force: true })
  }
}

// Readers see the old file or the new one; after a loss of power too.
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
