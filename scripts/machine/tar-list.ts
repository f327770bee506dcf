/** Lists the entries of a tar archive without copying their content: ustar, GNU's long names and pax headers. */

export type TarItem = {
  /** Without a leading `./` or `/`, and without a trailing slash. */
  readonly path: string
  readonly mode: number
  readonly kind: 'file' | 'folder' | 'link' | 'hard link' | 'other'
  /** Where its content starts in the archive. */
  readonly at: number
  readonly size: number
  /** The target of a link. */
  readonly to: string
}

/** Returns up to `length` bytes from an offset. */
export type ReadAt = (at: number, length: number) => Uint8Array

const blockBytes = 512
/** Of a header that carries a name or attributes. */
const maxAttributeBytes = 1024 * 1024

const kinds: Readonly<Record<string, TarItem['kind']>> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '1': 'hard link',
  '2': 'link',
  '5': 'folder',
}

export function* listTar(read: ReadAt, start: number, end: number): Generator<TarItem> {
  let stated: Readonly<Record<string, string>> = {}
  for (let at = start; at + blockBytes <= end; ) {
    const header = Buffer.from(read(at, blockBytes))
    if (header.length < blockBytes) throw new Error('the archive is cut off')
    if (header.every((byte) => byte === 0)) return
    requireChecksum(header)
    const type = header.toString('latin1', 156, 157)
    const size = stated.size === undefined ? readNumber(header, 124, 12) : Number(stated.size)
    if (!Number.isSafeInteger(size) || size < 0) throw new Error('the archive has an invalid size')
    const content = at + blockBytes
    at = content + Math.ceil(size / blockBytes) * blockBytes
    if (at > end) throw new Error('the archive is cut off')
    if ('LKxg'.includes(type)) {
      if (size > maxAttributeBytes) throw new Error('the archive has a header that is too long')
      const bytes = Buffer.from(read(content, size))
      if (type === 'L') stated = { ...stated, path: text(bytes) }
      else if (type === 'K') stated = { ...stated, linkpath: text(bytes) }
      else if (type === 'x') stated = { ...stated, ...readPax(bytes) }
      continue // attributes for all entries ('g') are comments in practice
    }
    const named = [text(header.subarray(345, 500)), text(header.subarray(0, 100))]
    const path = stated.path ?? named.filter(Boolean).join('/')
    yield {
      path: path.replace(/^(\.?\/)+/, '').replace(/\/+$/, ''),
      mode: readNumber(header, 100, 8),
      kind: kinds[type] ?? 'other',
      ...{ at: content, size },
      to: stated.linkpath ?? text(header.subarray(157, 257)),
    }
    stated = {}
  }
}

const text = (bytes: Buffer) => bytes.toString('utf8').replace(/\0.*$/s, '')

/** Octal digits, or in GNU's extension a big-endian number after a byte with the highest bit set. */
function readNumber(header: Buffer, at: number, length: number): number {
  const field = header.subarray(at, at + length)
  if (((field[0] ?? 0) & 0x80) === 0) return Number.parseInt(text(field).trim() || '0', 8)
  return field.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0)
}

function requireChecksum(header: Buffer): void {
  const sum = header.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0)
  if (sum !== readNumber(header, 148, 8)) throw new Error('the archive has a damaged header')
}

/** Lines of `LENGTH NAME=VALUE\n`. */
function readPax(bytes: Buffer): Record<string, string> {
  const found: Record<string, string> = {}
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at)
    const length = Number(bytes.toString('latin1', at, space))
    const equals = bytes.indexOf(0x3d, space)
    if (space < 0 || equals < 0 || !(length > 0))
      throw new Error('the archive has a damaged header')
    found[bytes.toString('utf8', space + 1, equals)] = bytes.toString(
      'utf8',
      equals + 1,
      at + length - 1,
    )
    at += length
  }
  return found
}
