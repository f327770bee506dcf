/** Whom a client believes about a log: its key, and how many of which witnesses. */
import { AttestationError } from '../verdict.ts'
import type { WitnessRule } from './checkpoint.ts'
import { parseVerifierKey, type VerifierKey } from './signed-note.ts'

/** The keys of a log and of those who watch it, as text (`vkey`). */
export type LogTrust = {
  readonly logKey: string
  readonly witnesses: readonly string[]
  /** How many witnesses must have cosigned; 0 where there are none. */
  readonly quorum: number
}

/** The same, read and found usable. */
export type ParsedLogTrust = { readonly logKey: VerifierKey; readonly rule: WitnessRule }

/** Refuses keys that are none or of the wrong type, and a rule that can never be met. Reads no log. */
export async function parseLogTrust(trust: LogTrust): Promise<ParsedLogTrust> {
  const logKey = await parseVerifierKey(trust.logKey)
  const witnesses = await Promise.all(trust.witnesses.map(parseVerifierKey))
  if (logKey.type !== 'ed25519') refuse(`the key of log ${logKey.name} is the key of a witness`)
  if (witnesses.some((witness) => witness.type !== 'cosignature/v1')) {
    refuse('the key of a witness is not of the type of cosignatures')
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
