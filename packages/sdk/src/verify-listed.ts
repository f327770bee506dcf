/** Verifies one worker that the directory lists: a fresh nonce, its evidence, the decision. */
import {
  AttestationError,
  type AttestedWorker,
  type Manifest,
  verifyWorkerWith,
} from '@privatemode/attestation'
import type { Bytes } from '@privatemode/protocol/envelope'
import type { Backend } from './backend.ts'
import type { ClientOptions } from './options.ts'

export type ListedRequest = {
  readonly apiKey: string
  readonly manifest: Manifest
  readonly workerId: string
  readonly logProof: Bytes | undefined
}

export async function verifyListed(
  options: ClientOptions,
  backend: Backend,
  { apiKey, manifest, workerId, logProof }: ListedRequest,
): Promise<AttestedWorker> {
  const { crypto, roots, revocation, hardware = {}, software, now } = options
  const nonce = crypto.random(32)
  const { statement, evidence } = await backend.attestation(workerId, nonce, apiKey)
  const inputs = { nonce, statement, evidence, manifest, roots, revocation, at: now() }
  const worker = await verifyWorkerWith(
    hardware,
    software === undefined ? inputs : { ...inputs, software },
  )
  if (worker.workerId !== workerId) {
    throw new AttestationError(
      'binding_mismatch',
      `asked for worker ${workerId}, the evidence is of worker ${worker.workerId}`,
      { checks: worker.checks },
    )
  }
  options.onEvidence?.(worker, { nonce, statement, evidence, manifest, logProof })
  return worker
}

/** Clocks are set by seconds every now and then; this much is no reason to verify again. */
const clockSlackMs = 60_000

/** Whether a verification is good at a time: a clock that was turned back does not make it last longer. */
export function holdsAt({ verifiedAt, validUntil }: AttestedWorker, now: Date): boolean {
  return validUntil > now && verifiedAt.getTime() <= now.getTime() + clockSlackMs
}
