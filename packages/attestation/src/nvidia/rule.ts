/** What a manifest may demand of NVIDIA devices. */
import type { Fields } from '../fields.ts'
import type { NvidiaArchitecture } from './device-chain.ts'
import type { GpuMode } from './device-fields.ts'
import { isVersion, type VersionKind } from './version.ts'

export type VersionRule =
  | { readonly kind: 'allowed'; readonly versions: readonly string[] }
  | { readonly kind: 'minimum'; readonly version: string }

export type NvidiaGpuRule = {
  readonly architectures: readonly NvidiaArchitecture[]
  readonly driver: VersionRule
  readonly vbios: VersionRule
  /** If absent, any mode, including an unreported one. */
  readonly modes?: readonly GpuMode[]
  /** The devices, by the serial numbers of their own certificates. If absent, every genuine one. */
  readonly gpuSerials?: readonly string[]
  readonly switchSerials?: readonly string[]
}

const architectures = ['hopper', 'blackwell', 'ls10'] as const
const modes = ['single-pass-through', 'multi-pass-through', 'protected-pcie'] as const

/** Parses a rule from a manifest; refuses with the manifest's own codes. */
export function readNvidiaGpuRule(fields: Fields): NvidiaGpuRule {
  return {
    architectures: readChoices(fields, 'architectures', architectures),
    driver: fields.object('driver', (inner) => readVersionRule(inner, 'driver')),
    vbios: fields.object('vbios', (inner) => readVersionRule(inner, 'vbios')),
    ...(fields.has('modes') && { modes: readChoices(fields, 'modes', modes) }),
    ...(fields.has('gpu_serials') && { gpuSerials: readSerials(fields, 'gpu_serials') }),
    ...(fields.has('switch_serials') && { switchSerials: readSerials(fields, 'switch_serials') }),
  }
}

/** As in certificates: at most 20 octets (RFC 5280, 4.1.2.2). */
function readSerials(fields: Fields, name: string): string[] {
  const serials = fields.array(name, { min: 1, max: 256 }, (item) =>
    typeof item === 'string' && /^(?:[0-9a-f]{2}){1,20}$/.test(item)
      ? item
      : fields.refuse(name, 'expected 1 to 20 bytes in lower-case hex'),
  )
  if (new Set(serials).size !== serials.length) fields.refuse(name, 'an item occurs twice')
  return serials
}

function readVersionRule(fields: Fields, kind: VersionKind): VersionRule {
  const check = (value: unknown, name: string): string =>
    typeof value === 'string' && isVersion(kind, value)
      ? value
      : fields.refuse(name, `expected a version of a ${kind}`)
  // Both together would leave open whether a listed version below the minimum is accepted.
  if (fields.has('allowed') === fields.has('minimum')) {
    fields.refuse('allowed', 'expected either a list of versions or a minimum')
  }
  if (fields.has('minimum')) {
    return { kind: 'minimum', version: check(fields.value('minimum'), 'minimum') }
  }
  const versions = fields.array('allowed', { min: 1, max: 256 }, (item) => check(item, 'allowed'))
  return { kind: 'allowed', versions }
}

function readChoices<const T extends string>(
  fields: Fields,
  name: string,
  choices: readonly T[],
): T[] {
  return fields.array(name, { min: 1, max: choices.length }, (item) => {
    const chosen = choices.find((choice) => choice === item)
    return chosen ?? fields.refuse(name, `expected ${choices.join(' or ')}`)
  })
}
