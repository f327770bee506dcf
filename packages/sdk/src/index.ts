/** Private inference for TypeScript programs: attest the backend, seal the call, open the answer. */
export {
  AttestationError,
  type AttestationErrorCode,
  type Check,
  type CheckpointStore,
  createLogSource,
  createStaticSource,
  type EnforcedManifest,
  enforcementLine,
  fetchLog,
  type HardwareVerifiers,
  hardwareVerifiers,
  type Manifest,
  type ManifestSource,
  type ModelListing,
  type RevocationPolicy,
  type Roots,
  vendorRoots,
} from '@privatemode/attestation'
export { ApiError, type ApiErrorCode } from '@privatemode/protocol/api'
export { type TrafficShape, webCryptoProvider } from '@privatemode/protocol/envelope'
export { Answer } from './answer.ts'
export { type Call, PrivateClient, type SealedCall, sealedMediaType } from './client.ts'
export {
  type ClientEvent,
  type ClientOptions,
  defaultRevocation,
  type Fetch,
} from './options.ts'
export { answerOf, forwardedHeaders, privateFetch, readApiKey } from './private-fetch.ts'
export type { Verification, WorkerRefusal, WorkerVerification } from './verification.ts'
