/** The manifest log as shown by its files: every published manifest, newest last. */
import { fleetPaths } from '@privatemode/protocol/fleet'
import { lastEntriesFile, readEntries } from '../../manifest/read-entries.ts'

export type LogEntry = {
  /** Its index in the log, from 0. */
  readonly index: number
  readonly text: string
  /** SHA-256 of the document in hex, as named by machines and receipts. */
  readonly digest: string
}

const maxFileBytes = 32 * 1024 * 1024

/**
 * The last entries, up to 256. The verification proves that the newest one is in the log; the older
 * ones are as shown by the gateway, and the page says so.
 */
export async function loadHistory(): Promise<readonly LogEntry[]> {
  const note = new TextDecoder().decode(await read('checkpoint'))
  const size = Number(note.split('\n')[1])
  if (!Number.isSafeInteger(size) || size < 1) return []
  const { path, first } = lastEntriesFile(size)
  const entries = readEntries(await read(path))
  if (entries === undefined) throw new Error('the log shows a damaged file')
  return Promise.all(
    entries.map(async (text, at) => ({ index: first + at, text, digest: await digestOf(text) })),
  )
}

async function read(path: string): Promise<Uint8Array> {
  const response = await fetch(`${fleetPaths.log}/${path}`, {
    redirect: 'error',
    signal: AbortSignal.timeout(15_000),
  })
  if (!response.ok) throw new Error(`the log answered ${response.status} for ${path}`)
  const bytes = new Uint8Array(await response.arrayBuffer())
  if (bytes.length > maxFileBytes) throw new Error('the log shows a file that is too large')
  return bytes
}

async function digestOf(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
