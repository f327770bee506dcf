/** Lets a client accept software attestation, which protects nothing. Never import this in production. */
import type { SoftwareVerifier } from '@privatemode/attestation'
import { softwareVerifier } from '@privatemode/attestation/software'

export { softwareVerifier }

/** Accepts workers that attest in software; see `acceptSoftware`. */
export type SoftwareAttestation = {
  readonly verifier: SoftwareVerifier
  /** SHA-256 fingerprints (hex) of the trusted root certificates. */
  readonly roots: readonly string[]
}

/**
 * For development: accepts workers whose evidence chains to one of these roots, if the manifest
 * allows it too.
 */
export function acceptSoftware(...roots: readonly string[]): SoftwareAttestation {
  return { verifier: softwareVerifier, roots }
}
