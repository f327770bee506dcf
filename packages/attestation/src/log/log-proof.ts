/** Proofs that a log contains an entry, verified without a network (c2sp.org/tlog-proof). */
import { type Bytes, concatBytes, equalBytes, formatBase64, parseBase64, utf8 } from '../bytes.ts'
import { AttestationError } from '../verdict.ts'
import { type Checkpoint, openCheckpoint } from './checkpoint.ts'
import { type LogTrust, parseLogTrust } from './log-trust.ts'
import { leafHash, rootFromInclusion } from './merkle.ts'
import { maxNoteBytes } from './signed-note.ts'

export type LogProof = {
  readonly index: number
  /** From the leaf's sibling up. */
  readonly hashes: readonly Uint8Array[]
  /** The signed note. */
  readonly checkpoint: Uint8Array
}

const header = 'c2sp.org/tlog-proof@v1'
const maxHashes = 64

export function formatLogProof(proof: LogProof): Bytes {
  const lines = [header, `index ${proof.index}`, ...proof.hashes.map(formatBase64)]
  return concatBytes(utf8(`${lines.join('\n')}\n\n`), proof.checkpoint)
}

export function parseLogProof(bytes: Uint8Array): LogProof {
  if (bytes.length > maxNoteBytes + 8192) malformed('too long')
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return malformed('not valid UTF-8')
  }
  const split = text.indexOf('\n\n')
  const [first, indexLine = '', ...hashLines] = text.slice(0, split).split('\n')
  const index = /^index (0|[1-9][0-9]{0,15})$/.exec(indexLine)?.[1]
  if (split === -1 || first !== header || index === undefined || hashLines.length > maxHashes) {
    return malformed('no header and index')
  }
  const hashes = hashLines.map((line) => {
    const hash = parseBase64(line)
    return hash?.length === 32 ? hash : malformed('a hash is not 32 bytes in base64')
  })
  return { index: Number(index), hashes, checkpoint: utf8(text.slice(split + 2)) }
}

/** Refuses unless the log, and as many witnesses as the rule demands, vouch for `entry`. */
export async function verifyLogProof(
  entry: Uint8Array,
  bytes: Uint8Array,
  trust: LogTrust,
): Promise<{ readonly index: number; readonly checkpoint: Checkpoint }> {
  const proof = parseLogProof(bytes)
  const { logKey, rule } = await parseLogTrust(trust)
  const checkpoint = await openCheckpoint(proof.checkpoint, logKey, rule)
  const hashes = proof.hashes.map((hash) => new Uint8Array(hash))
  const leaf = await leafHash(entry)
  const root = await rootFromInclusion(leaf, proof.index, checkpoint.size, hashes)
  if (root === undefined || !equalBytes(root, checkpoint.root)) {
    throw new AttestationError(
      'log_inclusion_invalid',
      `proof does not lead from entry ${proof.index} to the signed root of size ${checkpoint.size}`,
    )
  }
  return { index: proof.index, checkpoint }
}

function malformed(reason: string): never {
  throw new AttestationError('log_malformed', `log proof: ${reason}`)
}
