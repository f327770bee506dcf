/** Evaluates the TCB status of a TDX platform: its CPU and firmware, its TDX module, its QE. */
import { type Bytes, equalBytes, formatHex } from '../bytes.ts'
import type { Transcript } from '../verdict.ts'
import type { QeReport, TdReport } from './quote.ts'
import type {
  IsvLevel,
  LevelVerdict,
  MaskedValue,
  ModuleSigner,
  PlatformLevel,
  QeIdentity,
  TcbInfo,
} from './tcb-info.ts'
import { type TcbStatus, worstStatus } from './tcb-status.ts'

/** What the PCK certificate says about the platform. */
export type PlatformTcb = {
  /** The 16 components of CPUSVN. */
  readonly components: readonly number[]
  readonly pceSvn: number
}

export type TcbClaims = {
  /** Combines the faults of all three parts. */
  readonly status: TcbStatus
  readonly platformStatus: TcbStatus
  /** Undefined for a first-generation module, whose SVNs are part of the platform level. */
  readonly moduleStatus: TcbStatus | undefined
  readonly qeStatus: TcbStatus
  /** Of the platform's level: it includes security fixes up to this day. */
  readonly tcbDate: Date
  /** Which of Intel's TCB recoveries applies: the prover picks the documents, so a rule bounds both. */
  readonly evaluationDataNumber: number
  readonly qeEvaluationDataNumber: number
  readonly advisoryIds: readonly string[]
}

export function evaluateTcb(
  inputs: {
    readonly report: TdReport
    readonly qeReport: QeReport
    readonly platform: PlatformTcb
    readonly tcbInfo: TcbInfo
    readonly qeIdentity: QeIdentity
  },
  transcript: Transcript,
): TcbClaims {
  const { report, qeReport, platform, tcbInfo, qeIdentity } = inputs
  const qe = evaluateQe(qeReport, qeIdentity, transcript)
  const module = evaluateModule(report, tcbInfo, transcript)
  const level = evaluatePlatform(report, platform, tcbInfo, transcript)
  const parts = [level, ...(module === undefined ? [] : [module]), qe]
  const status = worstStatus(parts.map((part) => part.status))
  transcript.require(
    status !== 'Revoked',
    'tdx/tcb-status',
    'tcb_too_old',
    `platform ${level.status}, module ${module?.status ?? 'in platform'}, QE ${qe.status}: ${status}`,
  )
  return {
    status,
    platformStatus: level.status,
    moduleStatus: module?.status,
    qeStatus: qe.status,
    tcbDate: level.tcbDate,
    evaluationDataNumber: tcbInfo.evaluationDataNumber,
    qeEvaluationDataNumber: qeIdentity.evaluationDataNumber,
    advisoryIds: [...new Set(parts.flatMap((part) => part.advisoryIds))].sort(),
  }
}

/** The quoting enclave must be Intel's, in a version that Intel has evaluated. */
function evaluateQe(qe: QeReport, identity: QeIdentity, transcript: Transcript): LevelVerdict {
  transcript.require(
    equalBytes(qe.mrSigner, identity.mrSigner),
    'tdx/qe-signer',
    'collateral_mismatch',
    `QE MRSIGNER ${formatHex(qe.mrSigner)}, expected ${formatHex(identity.mrSigner)}`,
  )
  transcript.require(
    qe.isvProdId === identity.isvProdId,
    'tdx/qe-product',
    'collateral_mismatch',
    `QE ISVPRODID ${qe.isvProdId}, expected ${identity.isvProdId}`,
  )
  // Hex of MISCSELECT in the identity is in the byte order of the report.
  requireMasked(qe.miscSelect, identity.miscSelect, 'tdx/qe-miscselect', transcript)
  requireMasked(qe.attributes, identity.attributes, 'tdx/qe-attributes', transcript)
  const level = firstLevel(identity.levels, qe.isvSvn)
  if (level === undefined) {
    const lowest = Math.min(...identity.levels.map(({ isvSvn }) => isvSvn))
    const detail = `QE ISVSVN ${qe.isvSvn} is below every level, the lowest is ${lowest}`
    return transcript.fail('tdx/qe-tcb', 'tcb_too_old', detail)
  }
  transcript.pass('tdx/qe-tcb', `QE ISVSVN ${qe.isvSvn}: ${level.status}`)
  return level
}

/** TEE_TCB_SVN[1] is the major version of the TDX module; from 1 on, modules are evaluated separately. */
function evaluateModule(
  report: TdReport,
  tcbInfo: TcbInfo,
  transcript: Transcript,
): LevelVerdict | undefined {
  const [minor = 0, major = 0] = report.teeTcbSvn
  if (major === 0) {
    requireModuleSigner(report, tcbInfo.module, transcript)
    transcript.skip('tdx/module-tcb', 'a module of version 0 is judged with the platform')
    return undefined
  }
  const id = `TDX_${formatHex(new Uint8Array([major])).toUpperCase()}`
  const identity = tcbInfo.moduleIdentities.find((candidate) => candidate.id === id)
  if (identity === undefined) {
    const known = tcbInfo.moduleIdentities.map((candidate) => candidate.id).join(', ') || 'none'
    const detail = `TCB info has no module identity ${id}; it has ${known}`
    return transcript.fail('tdx/module-identity', 'collateral_mismatch', detail)
  }
  transcript.pass('tdx/module-identity', id)
  requireModuleSigner(report, identity, transcript)
  const level = firstLevel(identity.levels, minor)
  if (level === undefined) {
    const detail = `module ${id} version ${minor} is below every level`
    return transcript.fail('tdx/module-tcb', 'tcb_too_old', detail)
  }
  transcript.pass('tdx/module-tcb', `module ${id} version ${minor}: ${level.status}`)
  return level
}

function requireModuleSigner(report: TdReport, expected: ModuleSigner, transcript: Transcript) {
  transcript.require(
    equalBytes(report.mrSignerSeam, expected.mrSigner),
    'tdx/module-signer',
    'collateral_mismatch',
    `MRSIGNERSEAM ${formatHex(report.mrSignerSeam)}, expected ${formatHex(expected.mrSigner)}`,
  )
  const { seamAttributes } = report
  requireMasked(seamAttributes, expected.attributes, 'tdx/module-attributes', transcript)
}

function evaluatePlatform(
  report: TdReport,
  platform: PlatformTcb,
  tcbInfo: TcbInfo,
  transcript: Transcript,
): LevelVerdict {
  const svns = [...report.teeTcbSvn]
  // The first two are the module's version, which its own identity covers from version 1 on.
  const from = (svns[1] ?? 0) > 0 ? 2 : 0
  const reaches = (level: PlatformLevel): boolean =>
    allAtLeast(platform.components, level.sgxComponents, 0) &&
    platform.pceSvn >= level.pceSvn &&
    allAtLeast(svns, level.tdxComponents, from)
  const level = tcbInfo.levels.find(reaches)
  const seen = `CPUSVN ${platform.components.join('.')}, PCESVN ${platform.pceSvn}, TEE_TCB_SVN ${svns.join('.')}`
  if (level === undefined) {
    const detail = `${seen}: below every TCB level`
    return transcript.fail('tdx/platform-tcb', 'tcb_too_old', detail)
  }
  transcript.pass('tdx/platform-tcb', `${seen}: ${level.status}`)
  return level
}

/** Levels are sorted from newest to oldest; the first one reached is the platform's. */
function firstLevel(levels: readonly IsvLevel[], isvSvn: number): IsvLevel | undefined {
  return levels.find((level) => isvSvn >= level.isvSvn)
}

function allAtLeast(seen: readonly number[], least: readonly number[], from: number): boolean {
  return least.every((svn, index) => index < from || (seen[index] ?? -1) >= svn)
}

function requireMasked(seen: Bytes, expected: MaskedValue, id: string, transcript: Transcript) {
  const { value, mask } = expected
  const matches = seen.every(
    (byte, index) => ((byte ^ (value[index] ?? 0)) & (mask[index] ?? 0xff)) === 0,
  )
  transcript.require(
    matches && seen.length === value.length,
    id,
    'collateral_mismatch',
    `${formatHex(seen)}, expected ${formatHex(value)} under mask ${formatHex(mask)}`,
  )
}
