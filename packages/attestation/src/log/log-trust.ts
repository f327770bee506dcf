/** What a client trusts about a log: its key, the witnesses, and the quorum. */
import { AttestationError } from '../verdict.ts'
import type { WitnessRule } from './checkpoint.ts'
import { parseVerifierKey, type VerifierKey } from './signed-note.ts'

/** The keys of a log and of its witnesses, as text (`vkey`). */
export type LogTrust = {
  readonly logKey: string
  readonly witnesses: readonly string[]
  /** How many witnesses must have cosigned; 0 if there are none. */
  readonly quorum: number
}

/** The same, parsed and validated. */
export type ParsedLogTrust = { readonly logKey: VerifierKey; readonly rule: WitnessRule }

/**
 * Refuses invalid keys, keys of the wrong type, and a quorum that can never be met. Does not read
 * the log.
 */
export async function parseLogTrust(trust: LogTrust): Promise<ParsedLogTrust> {
  const logKey = await parseVerifierKey(trust.logKey)
  const witnesses = await Promise.all(trust.witnesses.map(parseVerifierKey))
  if (logKey.type !== 'ed25519') refuse(`the key of log ${logKey.name} is the key of a witness`)
  if (witnesses.some((witness) => witness.type !== 'cosignature/v1')) {
    refuse('the key of a witness is not a cosignature key')
  }
  if (!Number.isSafeInteger(trust.quorum) || trust.quorum < 0) refuse('quorum is not a count')
  if (trust.quorum > witnesses.length) {
    refuse(`quorum is ${trust.quorum}, but there are ${witnesses.length} witnesses`)
  }
  return { logKey, rule: { witnesses, quorum: trust.quorum } }
}

function refuse(reason: string): never {
  throw new AttestationError('log_malformed', `trust in a log: ${reason}`)
}
