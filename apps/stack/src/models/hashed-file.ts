/** Writes files atomically: hashed while written, synced, renamed once they are correct. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

export type WrittenFile = { readonly bytes: number; readonly sha256: string }

/** A new file that is hashed as it grows; `close` has synced it when it returns. */
export class HashedFile {
  readonly #handle: Awaited<ReturnType<typeof open>>
  readonly #hash = createHash('sha256')
  #bytes = 0

  private constructor(handle: Awaited<ReturnType<typeof open>>) {
    this.#handle = handle
  }

  static async create(path: string): Promise<HashedFile> {
    return new HashedFile(await open(path, 'wx', 0o600))
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes)
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await this.#handle.write(bytes, done, bytes.length - done)
      done += bytesWritten
    }
    this.#bytes += bytes.length
  }

  async close(): Promise<WrittenFile> {
    try {
      await this.#handle.sync()
    } finally {
      await this.#handle.close()
    }
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') }
  }
}

/** Moves a finished file into place; after a crash, either the old state or the new one exists. */
export async function moveIntoPlace(from: string, to: string): Promise<void> {
  await rename(from, to)
  // Windows cannot open a directory, and needs no such sync.
  if (process.platform === 'win32') return
  const folder = await open(dirname(to), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** SHA-256 of a file in lower-case hex, read once from start to end. */
export async function hashFile(path: string, signal?: AbortSignal): Promise<WrittenFile> {
  const hash = createHash('sha256')
  let bytes = 0
  const options = { highWaterMark: 1 << 20, ...(signal === undefined ? {} : { signal }) }
  for await (const chunk of createReadStream(path, options) as AsyncIterable<Uint8Array>) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return { bytes, sha256: hash.digest('hex') }
}
