/** A log kept in memory, whose host can be made to lie. */
import { utf8 } from '../bytes.ts'
import { createNoteSigner, type NoteSigner, parseNoteSigner } from '../log/note-signer.ts'
import { type LogStore, publishEntry } from '../log/publish.ts'
import type { NoteKeyType } from '../log/signed-note.ts'
import { noon } from './software-world.ts'

export class MemoryLog implements LogStore {
  readonly files = new Map<string, Uint8Array>()
  readonly paths: string[] = []

  read = async (path: string): Promise<Uint8Array | undefined> => {
    this.paths.push(path)
    return this.files.get(path)
  }

  write = async (path: string, bytes: Uint8Array): Promise<void> => {
    this.files.set(path, bytes)
  }

  copy(): MemoryLog {
    const copy = new MemoryLog()
    for (const [path, bytes] of this.files) copy.files.set(path, bytes.slice())
    return copy
  }

  async publish(signer: NoteSigner, ...entries: readonly string[]): Promise<Uint8Array> {
    for (const entry of entries) await publishEntry(this, signer, utf8(entry), { at: noon })
    return this.files.get('checkpoint') ?? new Uint8Array()
  }
}

/** `count` entries, all different. */
export const entries = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `entry ${from + index}`)

export async function newSigner(
  name: string,
  type?: NoteKeyType,
): Promise<NoteSigner & { readonly verifierKey: string }> {
  const { text, verifierKey } = await createNoteSigner(name, type)
  return { ...(await parseNoteSigner(text)), verifierKey }
}
