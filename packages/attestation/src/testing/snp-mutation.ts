/** Flips bits of SEV-SNP evidence: all are covered, so none may change without a refusal. */
import { formatBase64, parseBase64 } from '../bytes.ts'
import type { AuthenticityContext, SnpEvidence } from '../evidence.ts'
import { authenticateSnp } from '../snp/authenticate.ts'
import { Transcript } from '../verdict.ts'
import { type FlipReport, flipBits, type Part } from './flip-bits.ts'

/**
 * Flips the report, each certificate and each list; `every` as in `flipBits`. Each bit is covered
 * by a signature or a pinned digest, or must be zero or agree with the signed part.
 */
export function mutateSnp(
  evidence: SnpEvidence,
  context: AuthenticityContext,
  every: number,
): Promise<FlipReport> {
  const parts = [evidence.report, ...evidence.certificates, ...evidence.crls]
  const listed = 1 + evidence.certificates.length
  const named = parts.map(
    (base64, index): Part<`${number}`> => ({ name: `${index}`, bytes: parseBase64(base64)! }),
  )
  const verify = async (name: string, mutant: Uint8Array): Promise<void> => {
    const [report = '', ...rest] = parts.with(Number(name), formatBase64(mutant))
    const certificates = rest.slice(0, listed - 1)
    const crls = rest.slice(listed - 1)
    await authenticateSnp({ kind: 'snp', report, certificates, crls }, context, new Transcript())
  }
  return flipBits(named, verify, every)
}
