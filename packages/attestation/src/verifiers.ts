/** Verifiers as values: a program accepts only the kinds of evidence it has verifiers for. */
import type { Bytes } from './bytes.ts'
import type {
  AuthenticityContext,
  NvidiaGpuEvidence,
  Roots,
  SnpEvidence,
  TdxEvidence,
} from './evidence.ts'
import type { Fields } from './fields.ts'
import type { NvidiaDeviceRule } from './manifest/device-rule.ts'
import type { NvidiaGpuClaims } from './nvidia/claims.ts'
import type { NvidiaGpuRule } from './nvidia/rule.ts'
import type { SnpClaims } from './snp/claims.ts'
import type { SnpRule } from './snp/rule.ts'
import type { SoftwareVerifier } from './software/verifier.ts'
import type { TdxClaims } from './tdx/claims.ts'
import type { TdxRule } from './tdx/rule.ts'
import type { Transcript } from './verdict.ts'

/** Both halves for one kind: is the evidence genuine, and does a rule of the manifest accept it? */
export type CpuVerifier<Evidence, Claims, Rule> = VendorRoots & {
  readonly readRule: (fields: Fields) => Rule
  readonly authenticate: (
    evidence: Evidence,
    context: AuthenticityContext,
    transcript: Transcript,
  ) => Promise<Claims>
  readonly appraise: (claims: Claims, rule: Rule, transcript: Transcript) => void
}

/** The vendor's root certificates, pinned; used unless a program is told others. */
type VendorRoots = { readonly roots: Partial<Roots> }

export type NvidiaGpuVerifier = VendorRoots & {
  readonly readRule: (fields: Fields) => NvidiaDeviceRule
  readonly authenticate: (
    evidence: NvidiaGpuEvidence,
    nonce: Bytes,
    context: AuthenticityContext,
    transcript: Transcript,
  ) => Promise<NvidiaGpuClaims>
  readonly appraise: (claims: NvidiaGpuClaims, rule: NvidiaGpuRule, transcript: Transcript) => void
  /** Checks all devices of one machine together. */
  readonly requireTopology: (devices: readonly NvidiaGpuClaims[], transcript: Transcript) => void
}

/** Leaving one out makes a bundle smaller, and evidence of that kind is refused. */
export type HardwareVerifiers = {
  readonly snp?: CpuVerifier<SnpEvidence, SnpClaims, SnpRule>
  readonly tdx?: CpuVerifier<TdxEvidence, TdxClaims, TdxRule>
  readonly nvidiaGpu?: NvidiaGpuVerifier
}

export type Verifiers = HardwareVerifiers & {
  /** Absent in production: software evidence is then refused, whatever the manifest says. */
  readonly software?: SoftwareVerifier | undefined
}
