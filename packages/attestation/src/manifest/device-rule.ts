/** What a manifest demands of the devices beside a processor: how many, and of which kind. */
import type { Fields, Range } from '../fields.ts'
import { type NvidiaGpuRule, readNvidiaGpuRule } from '../nvidia/rule.ts'

export type NvidiaDeviceRule = {
  /** How many GPUs there must be, all of them different. */
  readonly count: Range
  /** How many switches between them; none unless told, or unless the mode needs them. */
  readonly switches: Range
  readonly rule: NvidiaGpuRule
}

/** Devices that no rule names are refused: there are none, or the manifest speaks about them. */
export type DeviceRules = { readonly nvidiaGpu: NvidiaDeviceRule | undefined }

export function readDeviceRules(fields: Fields): DeviceRules {
  const rules = fields.optional('devices', (name) =>
    fields.object(name, (devices) => ({
      nvidiaGpu: devices.object('nvidia-gpu', readNvidiaDevices),
    })),
  )
  return rules ?? { nvidiaGpu: undefined }
}

function readNvidiaDevices(fields: Fields): NvidiaDeviceRule {
  const count = fields.object('count', (inner) => readRange(inner, 1))
  const given = fields.optional('switches', (name) =>
    fields.object(name, (inner) => readRange(inner, 0)),
  )
  const rule = readNvidiaGpuRule(fields)
  const implied = impliedSwitches(rule)
  if (given !== undefined && given.min < implied.min) {
    fields.refuse('switches', 'protected PCIe mode needs at least one')
  }
  return { count, switches: given ?? implied, rule }
}

/** GPUs in protected PCIe mode talk through switches; how many of them, the GPUs sign themselves. */
function impliedSwitches({ modes = [] }: NvidiaGpuRule): Range {
  if (!modes.includes('protected-pcie')) return { min: 0, max: 0 }
  return { min: modes.length === 1 ? 1 : 0, max: 16 }
}

// A rule that names GPUs and is content with none would read like a demand and be none.
function readRange(fields: Fields, least: number): Range {
  const min = fields.integer('min', { min: least, max: 16 })
  return { min, max: fields.integer('max', { min: Math.max(min, 1), max: 16 }) }
}
