/** What a manifest demands of the devices beside a processor: how many, and of which kind. */
import type { Fields, Range } from '../fields.ts'
import { type NvidiaGpuRule, readNvidiaGpuRule } from '../nvidia/rule.ts'

export type NvidiaDeviceRule = {
  /** How many GPUs there must be, all of them different. */
  readonly count: Range
  /** How many switches between them; none unless told. */
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
  return {
    count: fields.object('count', (count) => readRange(count, 1)),
    switches: fields.optional('switches', (name) =>
      fields.object(name, (count) => readRange(count, 0)),
    ) ?? { min: 0, max: 0 },
    rule: readNvidiaGpuRule(fields),
  }
}

// A rule that names GPUs and is content with none would read like a demand and be none.
function readRange(fields: Fields, least: number): Range {
  const min = fields.integer('min', { min: least, max: 16 })
  return { min, max: fields.integer('max', { min: Math.max(min, 1), max: 16 }) }
}
