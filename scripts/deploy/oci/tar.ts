/** Writes tar archives (POSIX ustar) whose bytes depend only on their entries: no clock, user or disk order. */

export type TarEntry = {
  /** Without a leading slash; folders without a trailing one. */
  readonly path: string
  readonly mode: number
} & (
  | { readonly kind: 'file'; readonly content: Uint8Array }
  | { readonly kind: 'folder' }
  | { readonly kind: 'link'; readonly to: string }
)

const blockBytes = 512

/** Missing parent folders are added; entries are written sorted by path. */
export function writeTar(
  entries: readonly TarEntry[],
  mtimeSeconds: number,
): Uint8Array<ArrayBuffer> {
  const all = withFolders(entries)
  const total = all.reduce((sum, entry) => sum + blockBytes + padded(contentOf(entry).length), 0)
  const archive = new Uint8Array(total + 2 * blockBytes)
  let at = 0
  for (const entry of all) {
    const content = contentOf(entry)
    archive.set(formatHeader(entry, content.length, mtimeSeconds), at)
    archive.set(content, at + blockBytes)
    at += blockBytes + padded(content.length)
  }
  return archive
}

type Folder = { readonly kind: 'folder'; readonly path: string; readonly mode: number }

/** Sorted by path, with a folder above every entry. */
export function withFolders<Entry extends { readonly path: string }>(
  entries: readonly Entry[],
): (Entry | Folder)[] {
  const byPath = new Map<string, Entry | Folder>()
  for (const entry of entries) {
    if (byPath.has(entry.path))
      throw new Error(`two entries of one archive are called ${entry.path}`)
    byPath.set(entry.path, entry)
  }
  for (const { path } of entries) {
    const parts = path.split('/')
    for (let length = 1; length < parts.length; length++) {
      const folder = parts.slice(0, length).join('/')
      if (!byPath.has(folder)) byPath.set(folder, { kind: 'folder', path: folder, mode: 0o755 })
    }
  }
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

function contentOf(entry: TarEntry): Uint8Array {
  return entry.kind === 'file' ? entry.content : new Uint8Array(0)
}

const padded = (length: number) => Math.ceil(length / blockBytes) * blockBytes

const kinds = { file: '0', link: '2', folder: '5' } as const

function formatHeader(entry: TarEntry, length: number, mtimeSeconds: number): Uint8Array {
  const header = new Uint8Array(blockBytes)
  const { name, prefix } = splitPath(entry.kind === 'folder' ? `${entry.path}/` : entry.path)
  const put = (at: number, text: string) => header.set(new TextEncoder().encode(text), at)
  put(0, name)
  put(100, octal(entry.mode, 7))
  put(108, octal(0, 7)) // everything belongs to root, so that a program cannot change its own files
  put(116, octal(0, 7))
  put(124, octal(length, 11))
  put(136, octal(mtimeSeconds, 11))
  put(148, '        ')
  put(156, kinds[entry.kind])
  if (entry.kind === 'link') put(157, limited(entry.to, 100))
  put(257, 'ustar\u000000')
  put(345, prefix)
  const sum = header.reduce((total, byte) => total + byte, 0)
  put(148, `${octal(sum, 6)}\0 `)
  return header
}

const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0')

/** A path of more than 100 bytes is split at a slash (POSIX.1-1988, ustar). */
function splitPath(path: string): { name: string; prefix: string } {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' }
  const at = path.lastIndexOf('/', 155)
  return { prefix: limited(path.slice(0, at), 155), name: limited(path.slice(at + 1), 100) }
}

function limited(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text
  throw new Error(`"${text}" is too long for an archive`)
}
