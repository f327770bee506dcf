/** Vendor documents on disk. They are public and verified by clients: nothing here is trusted. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bytes } from '@privatemode/protocol/envelope'
import { WorkerError } from '../../worker-error.ts'
import { isErrno } from '../tsm/tsm-report.ts'

export type StoredDocument = { readonly document: Bytes; readonly fetchedAtMs: number }

const maxFileBytes = 8 * 1024 * 1024

export class CollateralFolder {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
    try {
      mkdirSync(path, { recursive: true })
    } catch (cause) {
      throw new WorkerError('settings_invalid', `the directory ${path} cannot be created`, {
        cause,
      })
    }
  }

  /** Undefined if not stored; throws if the file is not one of ours. */
  async read(name: string): Promise<StoredDocument | undefined> {
    const file = this.#fileOf(name)
    try {
      const { size } = await stat(file)
      if (size > maxFileBytes) throw unusable(`${name} has ${size} bytes`)
      return parseStored(name, new Uint8Array(await readFile(file)))
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return undefined
      throw error
    }
  }

  /** Writes a temporary file and renames it: a reader never sees a partial document. */
  async write(name: string, document: Bytes, fetchedAtMs: number): Promise<void> {
    const file = this.#fileOf(name)
    const draft = `${file}.${randomBytes(6).toString('hex')}`
    try {
      const handle = await open(draft, 'wx', 0o644)
      try {
        await handle.writeFile(`${JSON.stringify({ name, fetchedAtMs })}\n`)
        await handle.writeFile(document)
      } finally {
        await handle.close()
      }
      await rename(draft, file)
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  }

  #fileOf(name: string): string {
    return join(this.#path, `${createHash('sha256').update(name).digest('hex')}.collateral`)
  }
}

function parseStored(name: string, bytes: Bytes): StoredDocument {
  const end = bytes.indexOf(0x0a)
  if (end === -1) throw unusable(`${name} has no header`)
  let head: { name?: unknown; fetchedAtMs?: unknown } | null
  try {
    head = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)))
  } catch (cause) {
    throw unusable(`${name} has no header`, cause)
  }
  const fetchedAtMs = head?.fetchedAtMs
  if (head?.name !== name || typeof fetchedAtMs !== 'number') {
    throw unusable(`the file for ${name} holds another document`)
  }
  return { document: bytes.slice(end + 1), fetchedAtMs }
}

const unusable = (message: string, cause?: unknown) =>
  new WorkerError('collateral_unavailable', message, { cause })
