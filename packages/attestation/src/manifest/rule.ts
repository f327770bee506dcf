/** The evidence a manifest accepts: one rule per kind of machine, with the devices it requires. */
import type { Fields } from '../fields.ts'
import { readSnpRule, type SnpRule } from '../snp/rule.ts'
import { readSoftwareRule, type SoftwareRule } from '../software/rule.ts'
import { readTdxRule, type TdxRule } from '../tdx/rule.ts'
import { AttestationError } from '../verdict.ts'
import { type DeviceRules, readDeviceRules } from './device-rule.ts'

export type Rule =
  | { readonly kind: 'snp'; readonly rule: SnpRule; readonly devices: DeviceRules }
  | { readonly kind: 'tdx'; readonly rule: TdxRule; readonly devices: DeviceRules }
  | { readonly kind: 'software'; readonly rule: SoftwareRule }

/** Evidence for this role is accepted if any one rule accepts it. */
export type RolePolicy = { readonly accept: readonly Rule[] }

export const isHardwareRule = (rule: Rule): boolean => rule.kind !== 'software'

export function readRolePolicy(fields: Fields): RolePolicy {
  return { accept: fields.objects('accept', { min: 1, max: 64 }, readRule) }
}

function readRule(fields: Fields): Rule {
  const kind = fields.text('kind', 32)
  switch (kind) {
    case 'snp':
      return { kind, rule: readSnpRule(fields), devices: readDeviceRules(fields) }
    case 'tdx':
      return { kind, rule: readTdxRule(fields), devices: readDeviceRules(fields) }
    case 'software':
      return { kind, rule: readSoftwareRule(fields) }
    default:
      throw new AttestationError(
        fields.codes.unknown,
        `${fields.path}.kind: unknown kind ${JSON.stringify(kind)}; ${fields.codes.remedy}`,
      )
  }
}
