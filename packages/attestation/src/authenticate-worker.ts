/** Authentication: is the evidence genuine, current, and made for this nonce and this statement? */
import { deviceNonce, reportData } from './binding.ts'
import { type Bytes, equalBytes, formatHex, parseBase64 } from './bytes.ts'
import type { AuthenticityContext, CpuEvidence, DeviceEvidence, Evidence } from './evidence.ts'
import type { NvidiaGpuClaims } from './nvidia/claims.ts'
import type { SnpClaims } from './snp/claims.ts'
import type { SoftwareClaims } from './software/verifier.ts'
import type { TdxClaims } from './tdx/claims.ts'
import { AttestationError, type Transcript } from './verdict.ts'
import type { Verifiers } from './verifiers.ts'

export type CpuClaims =
  | { readonly kind: 'snp'; readonly claims: SnpClaims }
  | { readonly kind: 'tdx'; readonly claims: TdxClaims }
  | { readonly kind: 'software'; readonly claims: SoftwareClaims }

export type DeviceClaims = { readonly kind: 'nvidia-gpu'; readonly claims: NvidiaGpuClaims }

/** The claims of the evidence, once authenticated; whether they are acceptable is decided by appraisal. */
export type AuthenticEvidence = {
  readonly cpu: CpuClaims
  readonly devices: readonly DeviceClaims[]
}

export type AuthenticityInputs = {
  readonly nonce: Uint8Array
  readonly statement: Uint8Array
  readonly evidence: Evidence
  readonly context: AuthenticityContext
  readonly verifiers: Verifiers
}

export async function authenticateEvidence(
  inputs: AuthenticityInputs,
  transcript: Transcript,
): Promise<AuthenticEvidence> {
  const { evidence, nonce, statement } = inputs
  const cpu = await authenticateCpu(evidence.cpu, inputs, transcript)
  const deviceReports = evidence.devices.map(deviceReportBytes)
  const expected = await reportData({ nonce, statement, deviceReports })
  transcript.require(
    equalBytes(cpu.claims.reportData, expected),
    'binding/report-data',
    'binding_mismatch',
    `report data ${formatHex(cpu.claims.reportData)}, expected ${formatHex(expected)}`,
  )
  const expectedNonce = await deviceNonce({ nonce, statement })
  const devices: DeviceClaims[] = []
  for (const device of evidence.devices) {
    devices.push(await authenticateDevice(device, expectedNonce, inputs, transcript))
  }
  return { cpu, devices }
}

async function authenticateCpu(
  evidence: CpuEvidence,
  { context, verifiers }: AuthenticityInputs,
  transcript: Transcript,
): Promise<CpuClaims> {
  const { kind } = evidence
  switch (kind) {
    case 'snp': {
      const snp = verifiers.snp ?? refuseUnverifiable(kind, transcript)
      return { kind, claims: await snp.authenticate(evidence, context, transcript) }
    }
    case 'tdx': {
      const tdx = verifiers.tdx ?? refuseUnverifiable(kind, transcript)
      return { kind, claims: await tdx.authenticate(evidence, context, transcript) }
    }
    case 'software': {
      const software = verifiers.software ?? refuseUnverifiable(kind, transcript)
      return { kind, claims: await software.authenticate(evidence, context, transcript) }
    }
  }
}

async function authenticateDevice(
  evidence: DeviceEvidence,
  nonce: Bytes,
  { context, verifiers }: AuthenticityInputs,
  transcript: Transcript,
): Promise<DeviceClaims> {
  const { kind } = evidence
  const gpu = verifiers.nvidiaGpu ?? refuseUnverifiable(kind, transcript)
  return { kind, claims: await gpu.authenticate(evidence, nonce, context, transcript) }
}

// A check that could not run has failed: evidence that this program cannot verify is refused.
function refuseUnverifiable(
  kind: CpuEvidence['kind'] | DeviceEvidence['kind'],
  transcript: Transcript,
): never {
  return transcript.fail(
    `${kind}/verifier`,
    kind === 'software' ? 'software_refused' : 'evidence_unsupported',
    `no verifier for ${kind} evidence is available here`,
  )
}

function deviceReportBytes(evidence: DeviceEvidence): Bytes {
  const bytes = parseBase64(evidence.report)
  if (bytes !== undefined) return bytes
  throw new AttestationError('evidence_malformed', `${evidence.kind} report is not base64`)
}
