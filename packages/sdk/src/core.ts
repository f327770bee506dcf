/** The client without built-in hardware verifiers: it accepts only hardware whose verifiers it is given. */
export { nvidiaGpuVerifier, snpVerifier, tdxVerifier } from '@privatemode/attestation'
export type { CoreConnectOptions } from './connect-options.ts'
export { CorePrivatemode } from './core-privatemode.ts'
