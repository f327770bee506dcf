/** What a manifest demands of a machine's devices: how many, and of which kind. */
import type { Fields, Range } from '../fields.ts'
import { type NvidiaGpuRule, readNvidiaGpuRule } from '../nvidia/rule.ts'

export type NvidiaDeviceRule = {
  /** How many GPUs there must be, all distinct. */
  readonly count: Range
  /** How many switches connect them; none by default, unless the mode requires them. */
  readonly switches: Range
  readonly rule: NvidiaGpuRule
}

/**
 * Devices that no rule covers are refused: either there are none, or the manifest has a rule for them.
 * `unread` is a rule that this program has no verifier for: no device satisfies it.
 */
export type DeviceRules = { readonly nvidiaGpu: NvidiaDeviceRule | 'unread' | undefined }

export function readNvidiaDevices(fields: Fields): NvidiaDeviceRule {
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

/** GPUs in protected PCIe mode communicate through switches; the GPUs themselves sign how many. */
function impliedSwitches({ modes = [] }: NvidiaGpuRule): Range {
  if (!modes.includes('protected-pcie')) return { min: 0, max: 0 }
  return { min: modes.length === 1 ? 1 : 0, max: 16 }
}

// A rule that lists GPUs but accepts none would look like a requirement without being one.
function readRange(fields: Fields, least: number): Range {
  const min = fields.integer('min', { min: least, max: 16 })
  return { min, max: fields.integer('max', { min: Math.max(min, 1), max: 16 }) }
}
