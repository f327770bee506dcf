/** Finds the latest manifest of a log, and refuses a log that forks, rolls back or is inconsistent. */
import { type Bytes, equalBytes, formatBase64 } from '../bytes.ts'
import { AttestationError } from '../verdict.ts'
import { type Checkpoint, openCheckpoint } from './checkpoint.ts'
import { formatLogProof } from './log-proof.ts'
import { type LogTrust, parseLogTrust } from './log-trust.ts'
import { leafHash, rootFromInclusion } from './merkle.ts'
import { maxNoteBytes } from './signed-note.ts'
import { checkpointPath } from './tile.ts'
import { type ReadLog, readFile, TileTree } from './tile-tree.ts'

export type VerifyLatestInputs = LogTrust & {
  readonly read: ReadLog
  /** The checkpoint returned by the last verification; undefined on the first run. */
  readonly remembered: Uint8Array | undefined
}

export type LatestEntry = {
  readonly entry: Bytes
  readonly index: number
  /** To be stored, and passed as `remembered` next time. */
  readonly checkpoint: Bytes
  /** c2sp.org/tlog-proof: proves to others, without a network, that the log contains this entry. */
  readonly proof: Bytes
  readonly witnesses: readonly string[]
  /** As {@link Checkpoint.asOf}. Must be checked with `requireFreshLog` before the entry is used. */
  readonly asOf: Date | undefined
  /** The same for the remembered checkpoint: a time that has certainly passed. */
  readonly rememberedAsOf: Date | undefined
}

export async function verifyLatest(inputs: VerifyLatestInputs): Promise<LatestEntry> {
  const { read, remembered } = inputs
  const { logKey, rule } = await parseLogTrust(inputs)
  const bytes = await readFile(read, checkpointPath, maxNoteBytes)
  if (bytes === undefined)
    throw new AttestationError('log_unreachable', 'no manifest log at this address')
  const checkpoint = await openCheckpoint(bytes, logKey, rule)
  const tree = new TileTree(read, checkpoint.size)
  let rememberedAsOf: Date | undefined
  if (remembered !== undefined) {
    // The cosigners may have changed since; that the log itself signed may not.
    const known = await openCheckpoint(remembered, logKey, { witnesses: [], quorum: 0 })
    await requireConsistency(known, checkpoint, tree)
    rememberedAsOf = known.asOf
  }
  if (checkpoint.size === 0) throw new AttestationError('log_malformed', 'log has no entry yet')
  const index = checkpoint.size - 1
  const entry = await tree.entry(index)
  const hashes = await tree.inclusionProof(index)
  const root = await rootFromInclusion(await leafHash(entry), index, checkpoint.size, hashes)
  if (root === undefined || !equalBytes(root, checkpoint.root)) {
    throw new AttestationError(
      'log_inclusion_invalid',
      `entry ${index} is not in the tree that the checkpoint of size ${checkpoint.size} signs`,
    )
  }
  const proof = formatLogProof({ index, hashes, checkpoint: checkpoint.note })
  const { note, witnesses, asOf } = checkpoint
  return { entry, index, checkpoint: note, proof, witnesses, asOf, rememberedAsOf }
}

async function requireConsistency(
  known: Checkpoint,
  seen: Checkpoint,
  tree: TileTree,
): Promise<void> {
  if (seen.size < known.size) {
    throw new AttestationError(
      'log_rolled_back',
      `manifest log rolled back: it has ${seen.size} entries and had ${known.size} before`,
    )
  }
  if (seen.size === known.size) {
    if (!equalBytes(seen.root, known.root)) refuseFork(known, seen.root)
    return
  }
  const { older, newer } = await tree.rootsSince(known.size)
  if (!equalBytes(newer, seen.root)) {
    throw new AttestationError(
      'log_inclusion_invalid',
      `tiles do not hash to the root that the checkpoint of size ${seen.size} signs`,
    )
  }
  if (!equalBytes(older, known.root)) refuseFork(known, older)
}

function refuseFork({ size, root }: Checkpoint, seen: Bytes): never {
  throw new AttestationError(
    'log_forked',
    `manifest log forked: its first ${size} entries had root ${formatBase64(root)} before ` +
      `and have root ${formatBase64(seen)} now`,
  )
}
