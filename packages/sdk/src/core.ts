/** The client without any verifier of hardware: it accepts what it is given verifiers of, no more. */
export { nvidiaGpuVerifier, snpVerifier, tdxVerifier } from '@privatemode/attestation'
export type { CoreConnectOptions } from './connect-options.ts'
export { CorePrivatemode } from './core-privatemode.ts'
