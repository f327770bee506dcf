/** The entries in a file of the manifest log, in the tlog-tiles format: each prefixed with its length. */

/** Number of entries in a full file. */
export const entriesPerFile = 256

/** Undefined if the bytes are not complete entries. */
export function readEntries(bytes: Uint8Array): readonly string[] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const entries: string[] = []
  let at = 0
  while (at < bytes.length) {
    if (at + 2 > bytes.length) return undefined
    const end = at + 2 + view.getUint16(at)
    if (end > bytes.length) return undefined
    entries.push(new TextDecoder().decode(bytes.subarray(at + 2, end)))
    at = end
  }
  return entries
}

/** The file with the last entry of a log of this size, and the number of its first entry. */
export function lastEntriesFile(size: number): { readonly path: string; readonly first: number } {
  const index = Math.floor((size - 1) / entriesPerFile)
  const inFile = size - index * entriesPerFile
  const name = formatIndex(index)
  const path = inFile === entriesPerFile ? name : `${name}.p/${inFile}`
  return { path: `tile/entries/${path}`, first: index * entriesPerFile }
}

/** `1234067` is `x001/x234/067`. */
function formatIndex(index: number): string {
  const groups: string[] = []
  for (let rest = index; groups.length === 0 || rest > 0; rest = Math.floor(rest / 1000)) {
    groups.unshift(String(rest % 1000).padStart(3, '0'))
  }
  return groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/')
}
