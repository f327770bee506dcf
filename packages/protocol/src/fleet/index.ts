/**
 * The contract between the machines of a deployment and its clients: every path, header and shape,
 * once.
 */
export {
  type Account,
  type AuditAction,
  type AuditEntry,
  adminSchemas,
  auditActions,
  type BilledRequest,
  type Budget,
  type DrainEffect,
  type Invitation,
  type IssuedInvitation,
  type IssuedKey,
  type Key,
  type Limits,
  type Member,
  type ModelPrice,
  type Prices,
  type Role,
  type ServedModel,
  type SessionAnswer,
  type UsageSum,
  type Worker,
} from './admin.ts'
export type { Directory, DirectoryWorker } from './directory.ts'
export { adminBase, fleetBase, fleetPaths, registryPaths, workerPaths } from './paths.ts'
export {
  type LeavingAnswer,
  type ProvisionBody,
  type RegistrationAnswer,
  type RegistrationBody,
  renewAfterMs,
} from './registration.ts'
export {
  admissionShape,
  type RelayedRequest,
  relayHeaders,
  relayKeyBytes,
  relayMaxAgeMs,
  relayMaxAheadMs,
  relayText,
} from './relayed-request.ts'
export type { Schema, SchemaOf } from './schema.ts'
export {
  endpointShape,
  isWorkerId,
  maxCandidates,
  modelShape,
  requestIdShape,
  sealedHeaders,
  sealedMediaType,
} from './sealed-request.ts'
export {
  maxUsageRecords,
  receiptLabel,
  type SignedUsage,
  type UsageRecord,
  type UsageReport,
  usageReportText,
} from './usage-report.ts'
