/** Tiles and entry bundles (c2sp.org/tlog-tiles): their paths and their contents. */
import { type Bytes, concatBytes } from '../bytes.ts'
import { AttestationError } from '../verdict.ts'

export const tileWidth = 256
export const hashBytes = 32
/** An entry's length is encoded in two bytes. */
export const maxEntryBytes = 65_535
export const maxBundleBytes = tileWidth * (maxEntryBytes + 2)

/** `checkpoint` is the only file that changes. */
export const checkpointPath = 'checkpoint'

export function tilePath(level: number, index: number, width: number): string {
  return `tile/${level}/${indexPath(index)}${partialSuffix(width)}`
}

export function bundlePath(index: number, width: number): string {
  return `tile/entries/${indexPath(index)}${partialSuffix(width)}`
}

/** How many hashes tile `index` of `level` has in a tree of `size` leaves; 0 if it does not exist. */
export function widthOf(size: number, level: number, index: number): number {
  const hashes = Math.floor(size / tileWidth ** level)
  return Math.max(0, Math.min(tileWidth, hashes - index * tileWidth))
}

export function parseTile(bytes: Uint8Array, width: number): Bytes[] {
  // A full tile may be used in place of a partial one.
  if (bytes.length !== width * hashBytes && bytes.length !== tileWidth * hashBytes) {
    throw new AttestationError(
      'log_malformed',
      `tile has ${bytes.length} bytes, expected ${width * hashBytes}`,
    )
  }
  return Array.from(
    { length: width },
    (_, index) => new Uint8Array(bytes.subarray(index * hashBytes, (index + 1) * hashBytes)),
  )
}

export function parseBundle(bytes: Uint8Array, width: number): Bytes[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const entries: Bytes[] = []
  let offset = 0
  while (offset + 2 <= bytes.length) {
    const end = offset + 2 + view.getUint16(offset)
    if (end > bytes.length) break
    entries.push(new Uint8Array(bytes.subarray(offset + 2, end)))
    offset = end
  }
  if (offset !== bytes.length || (entries.length !== width && entries.length !== tileWidth)) {
    throw new AttestationError(
      'log_malformed',
      `entry bundle has ${entries.length} whole entries, expected ${width}`,
    )
  }
  return entries.slice(0, width)
}

export function formatBundle(entries: readonly Uint8Array[]): Bytes {
  return concatBytes(
    ...entries.flatMap((entry) => {
      if (entry.length > maxEntryBytes) {
        throw new AttestationError(
          'log_malformed',
          `entry has ${entry.length} bytes, expected at most ${maxEntryBytes}`,
        )
      }
      return [Uint8Array.of(entry.length >> 8, entry.length & 0xff), entry]
    }),
  )
}

// 1234067 is x001/x234/067.
function indexPath(index: number): string {
  const last = String(index % 1000).padStart(3, '0')
  const rest = Math.floor(index / 1000)
  return rest === 0 ? last : `${prefixPath(rest)}/${last}`
}

function prefixPath(index: number): string {
  const group = `x${String(index % 1000).padStart(3, '0')}`
  const rest = Math.floor(index / 1000)
  return rest === 0 ? group : `${prefixPath(rest)}/${group}`
}

const partialSuffix = (width: number): string => (width === tileWidth ? '' : `.p/${width}`)
