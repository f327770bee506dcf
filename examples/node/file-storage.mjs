// Files as storage for the state of the manifest log: it cannot go back between two runs unnoticed.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export async function fileStorage(folder) {
  await mkdir(folder, { recursive: true })
  const fileOf = (key) => join(folder, encodeURIComponent(key))
  return {
    async get(key) {
      try {
        return await readFile(fileOf(key), 'utf8')
      } catch (error) {
        if (error.code === 'ENOENT') return undefined
        throw error
      }
    },
    /** Written whole or not at all, also when the power fails. */
    async set(key, value) {
      const path = fileOf(key)
      await writeFile(`${path}.new`, value, { flush: true })
      await rename(`${path}.new`, path)
    },
  }
}
