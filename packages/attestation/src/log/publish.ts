/** The publisher's side of a log: appends an entry to the tiles and signs the new checkpoint. */
import { type Bytes, concatBytes, equalBytes } from '../bytes.ts'
import { openCheckpoint, signCheckpoint } from './checkpoint.ts'
import { completeRoot, leafHash } from './merkle.ts'
import type { NoteSigner } from './note-signer.ts'
import { maxNoteBytes } from './signed-note.ts'
import {
  bundlePath,
  checkpointPath,
  formatBundle,
  hashBytes,
  maxBundleBytes,
  parseBundle,
  parseTile,
  tilePath,
  tileWidth,
} from './tile.ts'
import { type ReadLog, readFile, TileTree } from './tile-tree.ts'

export type LogStore = {
  readonly read: ReadLog
  /** Must be whole or not at all, and durable once it is done. */
  readonly write: (path: string, bytes: Uint8Array) => Promise<void>
}

export type Published = {
  readonly index: number
  readonly checkpoint: Bytes
  /** False where the log's last entry was the same already. */
  readonly appended: boolean
}

/** Asks witnesses for their signature lines, before anyone sees the checkpoint. */
export type Cosign = (checkpoint: Bytes) => Promise<Bytes>

/**
 * Appends `entry`, unless it is the last entry already. One publisher at a time: two at once could
 * sign two histories, which is what clients refuse for good.
 */
export async function publishEntry(
  store: LogStore,
  signer: NoteSigner,
  entry: Uint8Array,
  cosign: Cosign = async (checkpoint) => checkpoint,
): Promise<Published> {
  const origin = signer.key.name
  const existing = await readFile(store.read, checkpointPath, maxNoteBytes)
  const size =
    existing === undefined
      ? 0
      : (await openCheckpoint(existing, signer.key, { witnesses: [], quorum: 0 })).size
  if (existing !== undefined && size > 0) {
    const latest = await new TileTree(store.read, size).entry(size - 1)
    if (equalBytes(latest, entry)) {
      return { index: size - 1, checkpoint: new Uint8Array(existing), appended: false }
    }
  }
  await appendToBundle(store, size, entry)
  await appendToTile(store, 0, size, await leafHash(entry))
  // Last of all: until the checkpoint is there, nothing refers to the new files.
  const root = await new TileTree(store.read, size + 1).root()
  const checkpoint = await cosign(await signCheckpoint({ origin, size: size + 1, root }, signer))
  await store.write(checkpointPath, checkpoint)
  return { index: size, checkpoint, appended: true }
}

async function appendToBundle(store: LogStore, size: number, entry: Uint8Array): Promise<void> {
  const index = Math.floor(size / tileWidth)
  const width = size % tileWidth
  const path = bundlePath(index, width)
  const before = width === 0 ? undefined : await readFile(store.read, path, maxBundleBytes)
  const entries = width === 0 ? [] : parseBundle(before ?? new Uint8Array(), width)
  await store.write(bundlePath(index, width + 1), formatBundle([...entries, entry]))
}

// `position` counts the hashes of this level that are there before.
async function appendToTile(
  store: LogStore,
  level: number,
  position: number,
  hash: Bytes,
): Promise<void> {
  const index = Math.floor(position / tileWidth)
  const width = position % tileWidth
  const path = tilePath(level, index, width)
  const before = width === 0 ? undefined : await readFile(store.read, path, tileWidth * hashBytes)
  const hashes = width === 0 ? [] : parseTile(before ?? new Uint8Array(), width)
  hashes.push(hash)
  await store.write(tilePath(level, index, width + 1), concatBytes(...hashes))
  if (hashes.length < tileWidth) return
  await appendToTile(store, level + 1, Math.floor(position / tileWidth), await completeRoot(hashes))
}
