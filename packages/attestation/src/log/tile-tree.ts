/** A tree of a given size, read from tiles. Its content is only proven by comparing roots. */
import type { Bytes } from '../bytes.ts'
import { AttestationError } from '../verdict.ts'
import { completeRoot, emptyRoot, nodeHash, splitPoint } from './merkle.ts'
import {
  bundlePath,
  hashBytes,
  maxBundleBytes,
  parseBundle,
  parseTile,
  tilePath,
  tileWidth,
  widthOf,
} from './tile.ts'

/** Reads one file of a log; undefined if it does not exist. Never returns more than `maxBytes`. */
export type ReadLog = (path: string, maxBytes: number) => Promise<Uint8Array | undefined>

/** The roots of two trees, the smaller one consisting of the larger one's first leaves. */
export type RootPair = { readonly older: Bytes; readonly newer: Bytes }

export class TileTree {
  readonly size: number
  readonly #read: ReadLog
  readonly #tiles = new Map<string, Promise<Bytes[]>>()

  constructor(read: ReadLog, size: number) {
    this.#read = read
    this.size = size
  }

  async root(): Promise<Bytes> {
    return this.size === 0 ? emptyRoot() : this.#range(0, this.size)
  }

  async entry(index: number): Promise<Bytes> {
    const bundle = Math.floor(index / tileWidth)
    const width = widthOf(this.size, 0, bundle)
    const bytes = await this.#file((w) => bundlePath(bundle, w), width, maxBundleBytes)
    const entry = parseBundle(bytes, width)[index % tileWidth]
    return entry ?? missing(`entry ${index}`)
  }

  /** Hashes from the leaf's sibling up (RFC 6962, section 2.1.1). */
  async inclusionProof(index: number): Promise<Bytes[]> {
    const proof: Bytes[] = []
    let [start, size] = [0, this.size]
    while (size > 1) {
      const split = splitPoint(size)
      if (index < start + split) {
        proof.unshift(await this.#range(start + split, size - split))
        size = split
      } else {
        proof.unshift(await this.#range(start, split))
        start += split
        size -= split
      }
    }
    return proof
  }

  /**
   * The root of this tree and that of its first `olderSize` leaves, computed from the same hashes:
   * if the newer root is the signed one, the older root is the only one this log can have had.
   */
  async rootsSince(olderSize: number): Promise<RootPair> {
    if (olderSize === 0) return { older: await emptyRoot(), newer: await this.root() }
    return this.#pair(0, olderSize, this.size)
  }

  async #pair(start: number, olderSize: number, size: number): Promise<RootPair> {
    if (olderSize === size) {
      const root = await this.#range(start, size)
      return { older: root, newer: root }
    }
    const split = splitPoint(size)
    if (olderSize <= split) {
      const left = await this.#pair(start, olderSize, split)
      const right = await this.#range(start + split, size - split)
      return { older: left.older, newer: await nodeHash(left.newer, right) }
    }
    const left = await this.#range(start, split)
    const right = await this.#pair(start + split, olderSize - split, size - split)
    return {
      older: await nodeHash(left, right.older),
      newer: await nodeHash(left, right.newer),
    }
  }

  // `start` is a multiple of the power of two that covers `size`, so that subtrees align with
  // tiles.
  async #range(start: number, size: number): Promise<Bytes> {
    if (size === 1) return this.#subtree(start, size)
    const split = splitPoint(size)
    if (split * 2 === size) return this.#subtree(start, size)
    const left = await this.#range(start, split)
    return nodeHash(left, await this.#range(start + split, size - split))
  }

  // A complete subtree of `size` leaves is one hash of a tile, or a few adjacent ones.
  async #subtree(start: number, size: number): Promise<Bytes> {
    let [level, count] = [0, size]
    for (; count >= tileWidth; count /= tileWidth) level += 1
    const first = start / tileWidth ** level
    const tile = await this.#tile(level, Math.floor(first / tileWidth))
    const offset = first % tileWidth
    return completeRoot(tile.slice(offset, offset + count))
  }

  #tile(level: number, index: number): Promise<Bytes[]> {
    const width = widthOf(this.size, level, index)
    const key = `${level}/${index}`
    const known = this.#tiles.get(key)
    if (known !== undefined) return known
    const tile = this.#file((w) => tilePath(level, index, w), width, tileWidth * hashBytes).then(
      (bytes) => parseTile(bytes, width),
    )
    this.#tiles.set(key, tile)
    return tile
  }

  // A log may delete a partial file once the full one exists.
  async #file(
    path: (width: number) => string,
    width: number,
    maxBytes: number,
  ): Promise<Uint8Array> {
    const file = await readFile(this.#read, path(width), maxBytes)
    if (file !== undefined) return file
    const full =
      width < tileWidth ? await readFile(this.#read, path(tileWidth), maxBytes) : undefined
    return full ?? missing(path(width))
  }
}

/** Reads a file and maps every failure to a single code. */
export async function readFile(
  read: ReadLog,
  path: string,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  let bytes: Uint8Array | undefined
  try {
    bytes = await read(path, maxBytes)
  } catch (cause) {
    if (cause instanceof AttestationError) throw cause
    throw new AttestationError('log_unreachable', `log file ${path} could not be read`, { cause })
  }
  if (bytes !== undefined && bytes.length > maxBytes) {
    throw new AttestationError('log_malformed', `log file ${path} is over ${maxBytes} bytes`)
  }
  return bytes
}

function missing(what: string): never {
  throw new AttestationError('log_unreachable', `log has no ${what}`)
}
