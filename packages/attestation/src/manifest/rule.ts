/** The evidence a manifest accepts: one rule per kind of machine, with the devices it requires. */
import type { Fields } from '../fields.ts'
import type { SnpRule } from '../snp/rule.ts'
import type { SoftwareRule } from '../software/rule.ts'
import type { TdxRule } from '../tdx/rule.ts'
import { AttestationError } from '../verdict.ts'
import type { DeviceRules, NvidiaDeviceRule } from './device-rule.ts'

export type Rule =
  | { readonly kind: 'snp'; readonly rule: SnpRule; readonly devices: DeviceRules }
  | { readonly kind: 'tdx'; readonly rule: TdxRule; readonly devices: DeviceRules }
  | { readonly kind: 'software'; readonly rule: SoftwareRule }
  /** About machines that this program has no verifier of, so that it accepts nothing. */
  | { readonly kind: 'unread'; readonly about: keyof RuleReaders }

type Reader<T> = { readonly readRule: (fields: Fields) => T }

/** What reads the rules of each kind: the verifiers, so that none is read that nobody could apply. */
export type RuleReaders = {
  readonly snp?: Reader<SnpRule> | undefined
  readonly tdx?: Reader<TdxRule> | undefined
  readonly nvidiaGpu?: Reader<NvidiaDeviceRule> | undefined
  readonly software?: Reader<SoftwareRule> | undefined
}

/** Evidence for this role is accepted if any one rule accepts it. */
export type RolePolicy = { readonly accept: readonly Rule[] }

export const kindOf = (rule: Rule): string => (rule.kind === 'unread' ? rule.about : rule.kind)

export function readRolePolicy(fields: Fields, readers: RuleReaders): RolePolicy {
  const read = (rule: Fields) => readRule(rule, readers)
  return { accept: fields.objects('accept', { min: 1, max: 64 }, read) }
}

function readRule(fields: Fields, readers: RuleReaders): Rule {
  const kind = fields.text('kind', 32)
  switch (kind) {
    case 'snp': {
      const rule = readers.snp?.readRule(fields)
      if (rule === undefined) return skip(fields, kind)
      return { kind, rule, devices: readDeviceRules(fields, readers) }
    }
    case 'tdx': {
      const rule = readers.tdx?.readRule(fields)
      if (rule === undefined) return skip(fields, kind)
      return { kind, rule, devices: readDeviceRules(fields, readers) }
    }
    case 'software': {
      const rule = readers.software?.readRule(fields)
      return rule === undefined ? skip(fields, kind) : { kind, rule }
    }
    default:
      throw new AttestationError(
        fields.codes.unknown,
        `${fields.path}.kind: unknown kind ${JSON.stringify(kind)}; ${fields.codes.remedy}`,
      )
  }
}

function readDeviceRules(fields: Fields, readers: RuleReaders): DeviceRules {
  const readRule: (devices: Fields) => NvidiaDeviceRule | 'unread' =
    readers.nvidiaGpu?.readRule ?? skipDevices
  const rules = fields.optional('devices', (name) =>
    fields.object(name, (devices) => ({ nvidiaGpu: devices.object('nvidia-gpu', readRule) })),
  )
  return rules ?? { nvidiaGpu: undefined }
}

function skip(fields: Fields, about: keyof RuleReaders): Rule {
  fields.skipRest()
  return { kind: 'unread', about }
}

function skipDevices(fields: Fields): 'unread' {
  fields.skipRest()
  return 'unread'
}
