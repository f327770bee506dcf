/** What an NVIDIA device's evidence says, in a form that prints; byte strings are lower-case hex. */
import { formatHex } from '../bytes.ts'
import type { Device, NvidiaArchitecture } from './device-chain.ts'
import type { DeviceFields, GpuMode } from './device-fields.ts'
import { type ReferenceIds, referenceIds } from './reference-ids.ts'
import type { SpdmReport } from './spdm-report.ts'

/** What the device itself signed; whether its firmware is NVIDIA's own, RIMs must still show. */
export type NvidiaReportClaims = {
  readonly kind: 'nvidia-gpu'
  readonly device: 'gpu' | 'switch'
  readonly architecture: NvidiaArchitecture
  readonly model: string
  /** Two reports with one id are of one device. */
  readonly deviceId: string
  /** A switch runs no driver of its own. */
  readonly driverVersion?: string
  readonly vbiosVersion: string
  readonly mode?: GpuMode
  /** Identities on the fabric: what a GPU says of its switches, a switch of itself and its GPUs. */
  readonly switchPdis?: readonly string[]
  readonly pdi?: string
  readonly gpuPdis?: readonly string[]
  readonly firmwareId: string
  readonly nonce: string
  readonly rimIds: ReferenceIds
}

declare const authentic: unique symbol

/** Only `authenticateNvidiaGpu` makes these. */
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
