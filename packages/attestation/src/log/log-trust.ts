/** Whom a client believes about a log: its key, and how many of which witnesses. */
import { AttestationError } from '../verdict.ts'
import type { WitnessRule } from './checkpoint.ts'
import { parseVerifierKey } from './signed-note.ts'

/** The keys of a log and of those who watch it, as text (`vkey`). */
export type LogTrust = {
  readonly logKey: string
  readonly witnesses: readonly string[]
  /** How many witnesses must have cosigned; 0 where there are none. */
  readonly quorum: number
}

/** Parses the witnesses; refuses a rule that can never be met or that counts a key twice. */
export async function parseWitnessRule(trust: LogTrust): Promise<WitnessRule> {
  const witnesses = await Promise.all(trust.witnesses.map(parseVerifierKey))
  const refuse = (reason: string): never => {
    throw new AttestationError('log_malformed', `witness rule: ${reason}`)
  }
  if (witnesses.some((witness) => witness.type !== 'cosignature/v1')) {
    refuse('a key is not of the type of cosignatures')
  }
  if (!Number.isSafeInteger(trust.quorum) || trust.quorum < 0) refuse('quorum is not a count')
  if (trust.quorum > witnesses.length) {
    refuse(`quorum is ${trust.quorum}, but there are ${witnesses.length} witnesses`)
  }
  return { witnesses, quorum: trust.quorum }
}
