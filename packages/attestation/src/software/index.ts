/** The verifier of software attestation; only programs that import it can accept software evidence. */
export { type SoftwareClaims, type SoftwareVerifier, softwareVerifier } from './verifier.ts'
