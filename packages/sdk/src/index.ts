/** Private inference for TypeScript programs: attest the backend, seal the call, open the answer. */
export {
  AttestationError,
  type AttestationErrorCode,
  type Check,
  type CheckpointStore,
  createLogSource,
  createStaticSource,
  defaultMaxLogAgeHours,
  type EnforcedManifest,
  enforcementLine,
  fetchLog,
  type HardwareVerifiers,
  hardwareVerifiers,
  type LogFreshness,
  type LogTrust,
  type MachineIdentity,
  type Manifest,
  type ManifestSource,
  type ModelListing,
  parseLogTrust,
  type RevocationPolicy,
  type RevocationState,
  type Roots,
  revocationWords,
  type SignedReceipt,
  vendorRoots,
} from '@privatemode/attestation'
export { ApiError, type ApiErrorCode, type ModelObject } from '@privatemode/protocol/api'
export { type TrafficShape, webCryptoProvider } from '@privatemode/protocol/envelope'
export { Answer } from './answer.ts'
export type {
  BlockDelta,
  Message,
  MessageBlock,
  MessageEvent,
  MessageInput,
  MessageRequest,
  MessageUsage,
  StopReason,
} from './anthropic-types.ts'
export type { ApiResult, CallOptions } from './api-calls.ts'
export type { ChatClient, EmbeddingsClient, MessagesClient, ModelsClient } from './api-clients.ts'
export type { ApiStream } from './api-stream.ts'
export type { CacheSaltPolicy } from './cache-salt.ts'
export { PrivateClient } from './client.ts'
export type { ConnectOptions, ManifestOption } from './connect-options.ts'
export { indexedDbStorage } from './indexed-db-storage.ts'
export { type LogStorage, memoryStorage, webStorage } from './log-storage.ts'
export type {
  ChatChunk,
  ChatCompletion,
  ChatMessage,
  ChatRequest,
  ContentPart,
  Embeddings,
  EmbeddingsRequest,
  FinishReason,
  TokenUsage,
  Tool,
  ToolCall,
} from './openai-types.ts'
export {
  type ClientEvent,
  type ClientOptions,
  defaultMaxAnswerBytes,
  defaultRevocation,
  type Fetch,
  type Timeouts,
  type WorkerProof,
} from './options.ts'
export { answerOf, forwardedHeaders, privateFetch, readApiKey } from './private-fetch.ts'
export { Privatemode } from './privatemode.ts'
export { PrivatemodeError, type PrivatemodeErrorCode } from './privatemode-error.ts'
export type { Receipt } from './receipted-answer.ts'
export { refusedError } from './refusals.ts'
export {
  type Call,
  isRetrySafe,
  isSealedAnswer,
  type SealedCall,
  SealedExchange,
} from './sealed-exchange.ts'
export type { Verification, WorkerRefusal, WorkerVerification } from './verification.ts'
export type { BundleSubject, VerificationRecord } from './verification-record.ts'
