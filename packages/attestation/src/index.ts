/**
 * Decides what to trust: evidence, manifest, roots and time in; an attested worker or a typed
 * refusal out.
 */

export { appraiseDevices } from './appraise-devices.ts'
export { appraiseEvidence } from './appraise-worker.ts'
export {
  type Attestation,
  formatAttestation,
  maxAttestationBytes,
  parseAttestation,
  parseEvidence,
} from './attestation-response.ts'
export { type AttestedWorker, isAttestedWorker } from './attested-worker.ts'
export { type AuthenticEvidence, authenticateEvidence } from './authenticate-worker.ts'
export { deviceEvidenceDigest, deviceNonce, nonceBytes, reportData } from './binding.ts'
export {
  type Bundle,
  formatEvidenceBundle,
  maxBundleBytes,
  parseEvidenceBundle,
} from './bundle/bundle.ts'
export {
  type ManifestTrust,
  type VerifiedBundle,
  type VerifyBundleInputs,
  verifyBundle,
} from './bundle/verify-bundle.ts'
export type {
  AuthenticityContext,
  CpuEvidence,
  DeviceEvidence,
  Evidence,
  NvidiaGpuEvidence,
  RevocationPolicy,
  Roots,
  SnpEvidence,
  SoftwareEvidence,
  TdxCollateral,
  TdxEvidence,
} from './evidence.ts'
export { formatInstant } from './fields.ts'
export {
  hardwareVerifiers,
  nvidiaGpuVerifier,
  snpVerifier,
  tdxVerifier,
} from './hardware-verifiers.ts'
export {
  type Checkpoint,
  cosignCheckpoint,
  openCheckpoint,
  signCheckpoint,
} from './log/checkpoint.ts'
export { fetchLog } from './log/fetch-log.ts'
export { defaultMaxLogAgeHours, type LogFreshness, requireFreshLog } from './log/freshness.ts'
export { verifyLogProof } from './log/log-proof.ts'
export { type LogTrust, type ParsedLogTrust, parseLogTrust } from './log/log-trust.ts'
export { createNoteSigner, type NoteSigner, parseNoteSigner } from './log/note-signer.ts'
export {
  type Cosign,
  type LogStore,
  type Published,
  type PublishOptions,
  publishEntry,
  readLatestEntry,
  refreshCheckpoint,
} from './log/publish.ts'
export { formatVerifierKey, parseVerifierKey, type VerifierKey } from './log/signed-note.ts'
export type { ReadLog } from './log/tile-tree.ts'
export { type LatestEntry, type VerifyLatestInputs, verifyLatest } from './log/verify-latest.ts'
export type { MachineIdentity } from './machine-identity.ts'
export type { NvidiaDeviceRule } from './manifest/device-rule.ts'
export {
  formatManifest,
  type Manifest,
  type ManifestDraft,
  parseManifest,
} from './manifest/manifest.ts'
export {
  type CheckpointStore,
  createLogSource,
  createLogSourceWith,
  createStaticSource,
  createStaticSourceWith,
  type EnforcedManifest,
  enforcementLine,
  type LogSourceOptions,
  type ManifestSource,
  manifestFileName,
  type RecordEnforced,
} from './manifest/manifest-source.ts'
export { type RevocationRule, tightenRevocation } from './manifest/revocation-rule.ts'
export type { RolePolicy, Rule } from './manifest/rule.ts'
export type { ModelListing, ModelTask } from './model-listing.ts'
export { appraiseNvidiaGpu } from './nvidia/appraise-nvidia.ts'
export {
  authenticateNvidiaGpu,
  authenticateNvidiaReport,
  compareNvidiaRims,
  type NvidiaReport,
  readReferenceIds,
} from './nvidia/authenticate-nvidia.ts'
export type { NvidiaGpuClaims, NvidiaReportClaims } from './nvidia/claims.ts'
export type { NvidiaArchitecture } from './nvidia/device-chain.ts'
export type { ReferenceIds } from './nvidia/reference-ids.ts'
export type { NvidiaGpuRule } from './nvidia/rule.ts'
export { requireTopology } from './nvidia/topology.ts'
export {
  parseReceipt,
  type ReceiptClaims,
  type SignedReceipt,
  verifyReceipt,
} from './receipt.ts'
export { type RevocationState, readRevocationState, revocationWords } from './revocation-state.ts'
export { vendorRoots } from './roots.ts'
export { appraiseSnp, appraiseSnpWithoutManifest } from './snp/appraise.ts'
export { authenticateSnp, authenticateSnpReport } from './snp/authenticate.ts'
export type { SnpClaims } from './snp/claims.ts'
export { parseSnpReport, type SnpReport } from './snp/report.ts'
export { readSnpRule, type SnpRule } from './snp/rule.ts'
export type { SoftwareVerifier } from './software/verifier.ts'
export {
  formatStatement,
  parseStatement,
  type Role,
  type SealKey,
  type Statement,
  sealKeyId,
  sealPublicKeyBytes,
} from './statement.ts'
export { appraiseTdx, appraiseTdxWithoutManifest } from './tdx/appraise-tdx.ts'
export { authenticateTdx } from './tdx/authenticate-tdx.ts'
export type { TdxClaims } from './tdx/claims.ts'
export type { TdxMeasurements, TdxRule } from './tdx/rule.ts'
export type { TcbStatus } from './tdx/tcb-status.ts'
export { AttestationError, type AttestationErrorCode, type Check, Transcript } from './verdict.ts'
export type { CpuVerifier, HardwareVerifiers, NvidiaGpuVerifier, Verifiers } from './verifiers.ts'
export {
  requireUnexpired,
  type VerifyWorkerInputs,
  verifyWorker,
  verifyWorkerWith,
} from './verify-worker.ts'
export { type Certificate, fingerprint, parseCertificate, parsePem } from './x509/certificate.ts'
export {
  judgeRevocation,
  type RevocationStatus,
  type RevocationVerdict,
  readRevocationStatus,
} from './x509/ocsp.ts'
