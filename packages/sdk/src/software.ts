/** Lets a client accept the software TEE, which protects nothing. Production never imports this. */
import type { SoftwareVerifier } from '@privatemode/attestation'
import { softwareVerifier } from '@privatemode/attestation/software'

export { softwareVerifier }

export type SoftwareAttestation = {
  readonly verifier: SoftwareVerifier
  /** SHA-256 fingerprints (hex) of the root certificates that are believed. */
  readonly roots: readonly string[]
}

/** For development: workers whose evidence ends in one of these roots, and whose manifest says so too. */
export function acceptSoftware(...roots: readonly string[]): SoftwareAttestation {
  return { verifier: softwareVerifier, roots }
}
