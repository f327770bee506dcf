/**
 * Produces evidence once at startup and verifies it as a client would, so the operator sees a
 * refusal first.
 */
import {
  AttestationError,
  authenticateEvidence,
  hardwareVerifiers,
  type Roots,
  Transcript,
} from '@privatemode/attestation'
import type { Log } from '@privatemode/service'
import type { EvidenceSource } from './evidence-source.ts'

/**
 * Throws if no evidence can be produced at all. Evidence that clients would refuse is only logged:
 * the missing collateral may become available later, and accepting it is the clients' decision.
 */
export async function checkOwnEvidence(
  source: EvidenceSource,
  roots: Roots,
  now: () => Date,
  log: Log,
): Promise<void> {
  const nonce = crypto.getRandomValues(new Uint8Array(32))
  const statement = new TextEncoder().encode('privatemode/v1/self-check')
  const evidence = await source.produce(nonce, statement)
  const revocation = { allowUnknown: false, revokedGraceHours: 0 }
  const context = { roots, revocation, at: now() }
  const transcript = new Transcript()
  try {
    await authenticateEvidence(
      { nonce, statement, evidence, context, verifiers: hardwareVerifiers },
      transcript,
    )
    log.info('own evidence is authentic', { count: transcript.checks.length })
  } catch (error) {
    if (!(error instanceof AttestationError)) throw error
    const { code, message: detail } = error
    log.warn('own evidence would be refused', { code, detail })
  }
}
