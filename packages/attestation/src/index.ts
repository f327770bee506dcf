/** Whom to trust: evidence, manifest, roots and time in; an attested worker or a typed refusal out. */
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
export { vendorRoots } from './roots.ts'
export { AttestationError, type AttestationErrorCode, type Check, Transcript } from './verdict.ts'
export { type Certificate, fingerprint, parseCertificate, parsePem } from './x509/certificate.ts'
