/** Appraises one piece of evidence by the rules of a manifest. */
import { AttestationError, type Rule, Transcript } from '@privatemode/attestation'
import type { Inputs } from './inputs.ts'

export const workerRules = ({ manifest }: Inputs): readonly Rule[] =>
  manifest?.roles.worker.accept ?? []

/** Accepts if one of the rules does; devices have their own evidence. */
export function appraiseByRules<OneRule>(
  kind: string,
  rules: readonly OneRule[],
  transcript: Transcript,
  appraise: (rule: OneRule, attempt: Transcript) => void,
): void {
  transcript.require(
    rules.length > 0,
    'manifest/kind',
    'manifest_refused',
    `the manifest has ${rules.length} rules for ${kind}`,
  )
  let refusal: AttestationError | undefined
  for (const rule of rules) {
    const attempt = new Transcript()
    try {
      appraise(rule, attempt)
      transcript.append(attempt.checks)
      return
    } catch (error) {
      if (!(error instanceof AttestationError)) throw error
      refusal ??= error
    }
  }
  transcript.append(refusal?.checks ?? [])
  throw refusal ?? new AttestationError('manifest_refused', 'no rule was tried')
}
