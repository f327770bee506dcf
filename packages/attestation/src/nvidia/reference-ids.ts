/** Names the RIMs of a device as NVIDIA's RIM service does, so that a worker can fetch them. */
import type { Device } from './device-chain.ts'
import type { DeviceFields } from './device-fields.ts'

export type ReferenceIds = { readonly driver?: string; readonly vbios: string }

/** The ids that NVIDIA's own verifiers request; the documents do not repeat them. */
export function referenceIds(
  { architecture }: Pick<Device, 'architecture'>,
  fields: DeviceFields,
): ReferenceIds {
  const version = fields.vbiosVersion.replaceAll('.', '')
  // There is one kind of switch board, which its reports do not name.
  if (fields.device === 'switch') return { vbios: `NV_SWITCH_BIOS_5612_0002_890_${version}` }
  const board = `${fields.project}_${fields.projectSku}_${fields.chipSku}`
  const driver =
    architecture === 'hopper'
      ? `NV_GPU_DRIVER_GH100_${fields.driverVersion}`
      : `NV_GPU_CC_DRIVER_${fields.chipInfo ?? 'GB100'}_${fields.driverVersion}`
  return { driver, vbios: `NV_GPU_VBIOS_${board}_${version}` }
}
