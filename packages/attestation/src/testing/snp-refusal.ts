/** Expects evidence to be refused with this code, by this check and no other. */
import { expect } from 'bun:test'
import type { AuthenticityContext, SnpEvidence } from '../evidence.ts'
import { authenticateSnp } from '../snp/authenticate.ts'
import type { SnpClaims } from '../snp/claims.ts'
import { AttestationError, type AttestationErrorCode, type Check, Transcript } from '../verdict.ts'

export const authenticate = (
  evidence: SnpEvidence,
  context: AuthenticityContext,
): Promise<SnpClaims> => authenticateSnp(evidence, context, new Transcript())

/** Expects refusals by this check, in a context that individual cases may change. */
export const refusalIn =
  (usual: AuthenticityContext) =>
  (evidence: SnpEvidence, code: AttestationErrorCode, check: string, context = usual) =>
    expectRefusal(evidence, context, code, check)

/** Returns the checks that ran, the failed one last. */
export async function expectRefusal(
  evidence: SnpEvidence,
  context: AuthenticityContext,
  code: AttestationErrorCode,
  check?: string,
): Promise<readonly Check[]> {
  const error = await authenticate(evidence, context).catch((error) => error)
  expect(error).toBeInstanceOf(AttestationError)
  const { checks } = error as AttestationError
  const failed = checks.filter(({ result }) => result === 'failed').map(({ id }) => id)
  expect([error.code, ...failed]).toEqual([code, check ?? checks.at(-1)?.id])
  return checks
}
