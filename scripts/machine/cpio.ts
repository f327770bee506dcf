/** Writes the initial disk as a cpio archive ("newc") whose bytes depend only on the entries. */
import type { TarEntry } from '../deploy/oci/tar.ts'
import { withFolders } from '../deploy/oci/tar.ts'

/** The kernel opens a console and a null device before anything could create them. */
export type DeviceEntry = {
  readonly kind: 'device'
  readonly path: string
  readonly mode: number
  readonly major: number
  readonly minor: number
}

export type CpioEntry = TarEntry | DeviceEntry

const kinds = { file: 0o100000, folder: 0o040000, link: 0o120000, device: 0o020000 } as const

export function writeCpio(entries: readonly CpioEntry[]): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = []
  withFolders(entries).forEach((entry, index) => {
    parts.push(...record(entry, index + 1))
  })
  parts.push(
    ...record({ kind: 'file', path: 'TRAILER!!!', mode: 0, content: new Uint8Array(0) }, 0),
  )
  return new Uint8Array(Buffer.concat(parts))
}

/** Linux, Documentation/driver-api/early-userspace/buffer-format.rst. */
function record(entry: CpioEntry, inode: number): Uint8Array[] {
  const content = contentOf(entry)
  const name = Buffer.from(`${entry.path}\0`)
  const isTrailer = inode === 0
  const fields = [
    inode,
    isTrailer ? 0 : kinds[entry.kind] | entry.mode,
    0, // user
    0, // group
    entry.kind === 'folder' ? 2 : 1,
    0, // time
    content.length,
    0, // device that the file was on
    0,
    entry.kind === 'device' ? entry.major : 0,
    entry.kind === 'device' ? entry.minor : 0,
    name.length,
    0, // checksum
  ]
  const header = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`
  return [Buffer.from(header), name, pad(header.length + name.length), content, pad(content.length)]
}

function contentOf(entry: CpioEntry): Uint8Array {
  switch (entry.kind) {
    case 'file':
      return entry.content
    case 'link':
      return Buffer.from(entry.to)
    case 'folder':
    case 'device':
      return new Uint8Array(0)
  }
}

const pad = (length: number) => new Uint8Array((4 - (length % 4)) % 4)
