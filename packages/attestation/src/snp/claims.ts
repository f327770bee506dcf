/** The claims of an authentic SEV-SNP report, decoded for appraisal and display. */
import { type Bytes, formatHex, isZero } from '../bytes.ts'
import type { CrlClaims } from '../x509/crl.ts'
import type { Endorsement } from './endorsement.ts'
import { parseTcb, type SnpProduct, type TcbLevels } from './product.ts'
import type { FirmwareVersion, SnpReport, SnpSigner } from './report.ts'

/** Bits of the guest policy (SNP ABI, GUEST_POLICY) that weaken protection when set. */
export const openPolicyFlags = ['smt', 'cxl'] as const
/** Bits that strengthen it when set. */
export const closedPolicyFlags = [
  'single_socket',
  'aes_256_xts',
  'rapl_disabled',
  'ciphertext_hiding',
  'page_swap_disabled',
] as const
/** Bits of the platform information that widen an attacker's options when set. */
export const openPlatformFlags = ['smt', 'tio'] as const
/** Bits that indicate a protection. */
export const closedPlatformFlags = [
  'tsme',
  'ecc',
  'rapl_disabled',
  'ciphertext_hiding',
  'alias_check_complete',
  'iommu_write_safe',
] as const

export type OpenPolicyFlag = (typeof openPolicyFlags)[number]
export type ClosedPolicyFlag = (typeof closedPolicyFlags)[number]
export type OpenPlatformFlag = (typeof openPlatformFlags)[number]
export type ClosedPlatformFlag = (typeof closedPlatformFlags)[number]
/** Always refused, so no rule can name them. */
export type ForbiddenPolicyFlag = 'debug' | 'migration_agent'

export type PolicyFlag = OpenPolicyFlag | ClosedPolicyFlag | ForbiddenPolicyFlag
export type PlatformFlag = OpenPlatformFlag | ClosedPlatformFlag

export type SnpClaims = {
  readonly reportVersion: number
  readonly product: SnpProduct
  readonly signer: SnpSigner
  /** Hex, 64 bytes. Certified by AMD if a VCEK signed; with a VLEK it may be masked (undefined). */
  readonly chipId: string | undefined
  /** The cloud provider that holds the VLEK. */
  readonly cspId: string | undefined
  readonly vmpl: number
  readonly guestSvn: number
  readonly policy: FlagField<PolicyFlag>
  readonly platform: FlagField<PlatformFlag>
  readonly reportData: Bytes
  /** Hex: 48, 32, 48 and 48 bytes. */
  readonly measurement: string
  readonly hostData: string
  readonly idKeyDigest: string
  /** Zeros if no author key signed the ID key. */
  readonly authorKeyDigest: string
  /** The root's list that was consulted; undefined if evidence was inspected without one. */
  readonly crl: CrlClaims | undefined
  readonly tcb: {
    readonly current: TcbLevels
    readonly reported: TcbLevels
    readonly committed: TcbLevels
    readonly launch: TcbLevels
  }
  readonly firmware: { readonly current: FirmwareVersion; readonly committed: FirmwareVersion }
}

/** A field of flags: those set, and the numbers of set bits without a known name. */
export type FlagField<Flag> = {
  readonly flags: readonly Flag[]
  readonly unknownBits: readonly number[]
}

export const policyBits: Readonly<Record<number, PolicyFlag>> = {
  16: 'smt',
  18: 'migration_agent',
  19: 'debug',
  20: 'single_socket',
  21: 'cxl',
  22: 'aes_256_xts',
  23: 'rapl_disabled',
  24: 'ciphertext_hiding',
  25: 'page_swap_disabled',
}
export const platformBits: Readonly<Record<number, PlatformFlag>> = {
  0: 'smt',
  1: 'tsme',
  2: 'ecc',
  3: 'rapl_disabled',
  4: 'ciphertext_hiding',
  5: 'alias_check_complete',
  // Set by Turin firmware, and not in revision 1.58 of the ABI.
  6: 'iommu_write_safe',
  7: 'tio',
}
// Bits 0 to 15 are the ABI version that the guest requests; bit 17 is always one.
const policyBitsWithoutFlag = 0x2ffffn

/** Only for a report whose signature is verified; may throw `evidence_malformed`. */
export function readClaims(report: SnpReport, endorsement: Endorsement): SnpClaims {
  const { product, holder } = endorsement
  return {
    reportVersion: report.version,
    product,
    signer: report.signer,
    chipId: isZero(report.chipId) ? undefined : formatHex(report.chipId),
    cspId: holder.kind === 'vlek' ? holder.cspId : undefined,
    vmpl: report.vmpl,
    guestSvn: report.guestSvn,
    policy: readFlags(report.policy & ~policyBitsWithoutFlag, policyBits),
    platform: readFlags(report.platformInfo, platformBits),
    reportData: report.reportData,
    measurement: formatHex(report.measurement),
    hostData: formatHex(report.hostData),
    idKeyDigest: formatHex(report.idKeyDigest),
    authorKeyDigest: formatHex(report.authorKeyDigest),
    crl: undefined,
    tcb: {
      current: parseTcb(report.currentTcb, product),
      reported: parseTcb(report.reportedTcb, product),
      committed: parseTcb(report.committedTcb, product),
      launch: parseTcb(report.launchTcb, product),
    },
    firmware: { current: report.currentFirmware, committed: report.committedFirmware },
  }
}

function readFlags<Flag>(field: bigint, names: Readonly<Record<number, Flag>>): FlagField<Flag> {
  const flags: Flag[] = []
  const unknownBits: number[] = []
  for (let bit = 0; bit < 64; bit++) {
    if (((field >> BigInt(bit)) & 1n) === 0n) continue
    const name = names[bit]
    if (name === undefined) unknownBits.push(bit)
    else flags.push(name)
  }
  return { flags, unknownBits }
}
