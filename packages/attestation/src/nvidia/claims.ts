/** What an NVIDIA device's evidence claims, in printable form; byte strings are lower-case hex. */
import { formatHex } from '../bytes.ts'
import type { Device, NvidiaArchitecture } from './device-chain.ts'
import type { DeviceFields, GpuMode } from './device-fields.ts'
import { type ReferenceIds, referenceIds } from './reference-ids.ts'
import type { SpdmReport } from './spdm-report.ts'

/** What the device itself signed; only RIMs can show whether its firmware is NVIDIA's own. */
export type NvidiaReportClaims = {
  readonly kind: 'nvidia-gpu'
  readonly device: 'gpu' | 'switch'
  readonly architecture: NvidiaArchitecture
  readonly model: string
  /** Two reports with the same id are from the same device. */
  readonly deviceId: string
  /** Absent for a switch, which runs no driver of its own. */
  readonly driverVersion?: string
  readonly vbiosVersion: string
  readonly mode?: GpuMode
  /** Identities on the fabric: a GPU names its switches, a switch itself and its GPUs. */
  readonly switchPdis?: readonly string[]
  readonly pdi?: string
  readonly gpuPdis?: readonly string[]
  readonly firmwareId: string
  readonly nonce: string
  readonly rimIds: ReferenceIds
}

declare const authentic: unique symbol

/** Created only by `authenticateNvidiaGpu`. */
export type NvidiaGpuClaims = NvidiaReportClaims & { readonly [authentic]: true }

export function readReportClaims(
  report: SpdmReport,
  device: Device,
  fields: DeviceFields,
): NvidiaReportClaims {
  return {
    kind: 'nvidia-gpu',
    device: fields.device,
    architecture: device.architecture,
    model: device.model,
    deviceId: device.deviceId,
    ...(fields.device === 'gpu' && { driverVersion: fields.driverVersion }),
    vbiosVersion: fields.vbiosVersion,
    ...(fields.device === 'gpu' && fields.mode && { mode: fields.mode }),
    ...(fields.device === 'gpu' && fields.switchPdis && { switchPdis: fields.switchPdis }),
    ...(fields.device === 'switch' && fields.pdi && { pdi: fields.pdi }),
    ...(fields.device === 'switch' && fields.gpuPdis && { gpuPdis: fields.gpuPdis }),
    firmwareId: formatHex(device.firmwareId),
    nonce: formatHex(report.nonce),
    rimIds: referenceIds(device, fields),
  }
}
