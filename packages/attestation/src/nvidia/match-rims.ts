/** Compares the measurements of a report with those of the RIMs for its exact firmware. */
import { formatHex } from '../bytes.ts'
import type { Transcript } from '../verdict.ts'
import type { Device } from './device-chain.ts'
import type { DeviceFields } from './device-fields.ts'
import type { Rim } from './rim.ts'
import type { SpdmReport } from './spdm-report.ts'

export type RimRole = 'driver' | 'vbios'

/** The RIMs a device needs; a switch runs no driver of its own. */
export function requiredRoles(fields: DeviceFields): readonly RimRole[] {
  return fields.device === 'gpu' ? ['driver', 'vbios'] : ['vbios']
}

/** Distinguishes the driver's RIM from the VBIOS's by version; a RIM for neither is refused. */
export function assignRims(
  rims: readonly Rim[],
  device: Device,
  fields: DeviceFields,
  transcript: Transcript,
): ReadonlyMap<RimRole, Rim> {
  const assigned = new Map<RimRole, Rim>()
  for (const rim of rims) {
    const role = findRole(rim, device, fields)
    const about = `RIM for ${rim.edition} ${rim.product} ${rim.version}`
    const expected = describeExpected(device, fields)
    if (role === undefined) {
      return transcript.fail('nvidia/rim/role', 'collateral_mismatch', `${about}, ${expected}`)
    }
    transcript.require(
      !assigned.has(role),
      `nvidia/rim/${role}/version`,
      'collateral_mismatch',
      assigned.has(role) ? `${about} occurs twice` : about,
    )
    assigned.set(role, rim)
  }
  return assigned
}

/** Every active entry must match the measurement of its index in one of its alternatives. */
export function requireMeasurements(
  report: SpdmReport,
  fields: DeviceFields,
  assigned: ReadonlyMap<RimRole, Rim>,
  transcript: Transcript,
): void {
  refuseConflicts(assigned, transcript)
  for (const [role, rim] of assigned) {
    const id = `nvidia/rim/${role}/measurements`
    const mismatched: number[] = []
    let compared = 0
    for (const [index, values] of rim.golden) {
      // The decoder's own measurement is undefined while it is off; NVIDIA's verifiers skip it too.
      if (index === nvdec0Index && fields.device === 'gpu' && fields.nvdec0Disabled) {
        transcript.skip(`nvidia/rim/${role}/measurement-${index}`, 'the video decoder is off')
        continue
      }
      const measured = report.measurements.get(index + 1)
      if (!measured || !values.includes(formatHex(measured))) mismatched.push(index)
      compared++
    }
    transcript.require(
      mismatched.length === 0 && compared > 0,
      id,
      'measurement_mismatch',
      mismatched.length === 0
        ? `${compared} measurements as published`
        : `${mismatched.length} of ${compared} differ, at index ${mismatched.join(', ')}`,
    )
  }
}

const nvdec0Index = 35

function findRole(rim: Rim, device: Device, fields: DeviceFields): RimRole | undefined {
  if (rim.edition !== editions[fields.device]) return undefined
  if (!chipNames(device, fields).includes(rim.product)) return undefined
  const version = rim.version.toUpperCase()
  if (fields.device === 'gpu' && version === fields.driverVersion) return 'driver'
  return version === fields.vbiosVersion ? 'vbios' : undefined
}

const editions = { gpu: 'GPU', switch: 'SWITCH' } as const

/** LS_10 in certificates is LS10 in RIMs; a report may name a member of a certified family. */
function chipNames(device: Device, fields: DeviceFields): readonly string[] {
  const certified = device.chip.replace('_', '')
  const reported = fields.device === 'gpu' ? fields.chipInfo : undefined
  return reported === undefined ? [certified] : [certified, reported]
}

function describeExpected(device: Device, fields: DeviceFields): string {
  const chips = chipNames(device, fields).join(' or ')
  const driver = fields.device === 'gpu' ? `driver ${fields.driverVersion} or ` : ''
  return `expected one for ${editions[fields.device]} ${chips}, ${driver}VBIOS ${fields.vbiosVersion}`
}

/** Two documents that cover the same measurement could contradict each other. */
function refuseConflicts(assigned: ReadonlyMap<RimRole, Rim>, transcript: Transcript): void {
  const driver = assigned.get('driver')
  const vbios = assigned.get('vbios')
  if (!driver || !vbios) return
  const both = [...driver.golden.keys()].filter((index) => vbios.golden.has(index))
  transcript.require(
    both.length === 0,
    'nvidia/rim/overlap',
    'collateral_mismatch',
    both.length === 0
      ? 'no measurement is in both RIMs'
      : `both RIMs have index ${both.join(', ')}`,
  )
}
