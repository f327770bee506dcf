/** The publisher's side of a log: appends an entry to the tiles and signs the new checkpoint. */
import { type Bytes, concatBytes, equalBytes } from '../bytes.ts'
import { AttestationError } from '../verdict.ts'
import { dateCheckpoint, openCheckpoint, signCheckpoint } from './checkpoint.ts'
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
  /** Must be atomic, and durable once it resolves. */
  readonly write: (path: string, bytes: Uint8Array) => Promise<void>
}

export type Published = {
  readonly index: number
  readonly checkpoint: Bytes
  /** False if the log's last entry was already the same. */
  readonly appended: boolean
}

/** Requests the witnesses' signature lines before anyone else sees the checkpoint. */
export type Cosign = (checkpoint: Bytes) => Promise<Bytes>

export type PublishOptions = {
  /** The time the checkpoint is signed for; defaults to now. */
  readonly at?: Date
  readonly cosign?: Cosign
}

/**
 * Appends `entry`; if it is already the last entry, the checkpoint is only dated again. There must
 * be only one publisher at a time: two could sign two histories, which clients refuse for good.
 */
export async function publishEntry(
  store: LogStore,
  signer: NoteSigner,
  entry: Uint8Array,
  options: PublishOptions = {},
): Promise<Published> {
  const latest = await readLatestEntry(store, signer)
  if (latest !== undefined && equalBytes(latest.entry, entry)) {
    const checkpoint = await refreshCheckpoint(store, signer, options)
    return { index: latest.index, checkpoint, appended: false }
  }
  const size = latest === undefined ? 0 : latest.index + 1
  await appendToBundle(store, size, entry)
  await appendToTile(store, 0, size, await leafHash(entry))
  // Last of all: nothing refers to the new files until the checkpoint exists.
  const root = await new TileTree(store.read, size + 1).root()
  const head = { origin: signer.key.name, size: size + 1, root }
  const { at = new Date(), cosign = unchanged } = options
  const checkpoint = await cosign(await signCheckpoint(head, signer, at))
  await store.write(checkpointPath, checkpoint)
  return { index: size, checkpoint, appended: true }
}

/**
 * States that the latest checkpoint is still current: clients refuse a log that has not been signed
 * for days. Nothing is appended, and the lines of witnesses that are not asked again stay as they
 * are.
 */
export async function refreshCheckpoint(
  store: LogStore,
  signer: NoteSigner,
  { at = new Date(), cosign = unchanged }: PublishOptions = {},
): Promise<Bytes> {
  const existing = await readFile(store.read, checkpointPath, maxNoteBytes)
  if (existing === undefined) {
    throw new AttestationError(
      'log_malformed',
      'log has no checkpoint yet; publish a manifest first',
    )
  }
  const { size, root } = await openOwn(existing, signer)
  // A publisher signs only what it has: it does not vouch again for files that were changed or lost
  // since.
  if (!equalBytes(await new TileTree(store.read, size).root(), root)) {
    throw new AttestationError(
      'log_inclusion_invalid',
      `tiles do not hash to the root that the checkpoint of size ${size} signs`,
    )
  }
  const checkpoint = await cosign(await dateCheckpoint(existing, signer, at))
  await store.write(checkpointPath, checkpoint)
  return checkpoint
}

/** The last entry of one's own log, whenever it was signed; undefined for a new log. */
export async function readLatestEntry(
  store: LogStore,
  signer: NoteSigner,
): Promise<{ readonly entry: Bytes; readonly index: number } | undefined> {
  const existing = await readFile(store.read, checkpointPath, maxNoteBytes)
  if (existing === undefined) return undefined
  const { size } = await openOwn(existing, signer)
  if (size === 0) return undefined
  return { entry: await new TileTree(store.read, size).entry(size - 1), index: size - 1 }
}

const unchanged: Cosign = async (checkpoint) => checkpoint

const openOwn = (checkpoint: Uint8Array, signer: NoteSigner) =>
  openCheckpoint(checkpoint, signer.key, { witnesses: [], quorum: 0 })

async function appendToBundle(store: LogStore, size: number, entry: Uint8Array): Promise<void> {
  const index = Math.floor(size / tileWidth)
  const width = size % tileWidth
  const path = bundlePath(index, width)
  const before = width === 0 ? undefined : await readFile(store.read, path, maxBundleBytes)
  const entries = width === 0 ? [] : parseBundle(before ?? new Uint8Array(), width)
  await store.write(bundlePath(index, width + 1), formatBundle([...entries, entry]))
}

// `position` is the number of hashes already on this level.
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
