/** Authenticity: is the evidence real, current, and made for this nonce and this statement? */
import { deviceNonce, reportData } from './binding.ts'
import { type Bytes, equalBytes, formatHex, parseBase64 } from './bytes.ts'
import type { AuthenticityContext, CpuEvidence, DeviceEvidence, Evidence } from './evidence.ts'
import { authenticateNvidiaGpu } from './nvidia/authenticate-nvidia.ts'
import type { NvidiaGpuClaims } from './nvidia/claims.ts'
import { authenticateSnp } from './snp/authenticate.ts'
import type { SnpClaims } from './snp/claims.ts'
import type { SoftwareClaims, SoftwareVerifier } from './software/verifier.ts'
import { authenticateTdx } from './tdx/authenticate-tdx.ts'
import type { TdxClaims } from './tdx/claims.ts'
import { AttestationError, type Transcript } from './verdict.ts'

export type CpuClaims =
  | { readonly kind: 'snp'; readonly claims: SnpClaims }
  | { readonly kind: 'tdx'; readonly claims: TdxClaims }
  | { readonly kind: 'software'; readonly claims: SoftwareClaims }

export type DeviceClaims = { readonly kind: 'nvidia-gpu'; readonly claims: NvidiaGpuClaims }

/** What the evidence says, once it is known to be true; whether it is wanted is another question. */
export type AuthenticEvidence = {
  readonly cpu: CpuClaims
  readonly devices: readonly DeviceClaims[]
}

export type AuthenticityInputs = {
  readonly nonce: Uint8Array
  readonly statement: Uint8Array
  readonly evidence: Evidence
  readonly context: AuthenticityContext
  readonly software: SoftwareVerifier | undefined
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
  { context, software }: AuthenticityInputs,
  transcript: Transcript,
): Promise<CpuClaims> {
  switch (evidence.kind) {
    case 'snp':
      return { kind: 'snp', claims: await authenticateSnp(evidence, context, transcript) }
    case 'tdx':
      return { kind: 'tdx', claims: await authenticateTdx(evidence, context, transcript) }
    case 'software':
      if (software === undefined) {
        return transcript.fail(
          'software/verifier',
          'software_refused',
          'this program was given no verifier of software evidence',
        )
      }
      return {
        kind: 'software',
        claims: await software.authenticate(evidence, context, transcript),
      }
  }
}

async function authenticateDevice(
  evidence: DeviceEvidence,
  nonce: Bytes,
  { context }: AuthenticityInputs,
  transcript: Transcript,
): Promise<DeviceClaims> {
  const claims = await authenticateNvidiaGpu(evidence, nonce, context, transcript)
  return { kind: evidence.kind, claims }
}

function deviceReportBytes(evidence: DeviceEvidence): Bytes {
  const bytes = parseBase64(evidence.report)
  if (bytes !== undefined) return bytes
  throw new AttestationError('evidence_malformed', `${evidence.kind} report is not base64`)
}
