/** What a manifest may demand of a TDX machine. */
import type { Fields } from '../fields.ts'
import { type CrlRule, readCrlRule } from '../x509/crl-rule.ts'
import { type TcbStatus, tcbStatuses } from './tcb-status.ts'

/**
 * Values that belong together: firmware (MRTD), its configuration (RTMR0), boot loader and kernel
 * (RTMR1), command line and initrd (RTMR2), and what software adds at run time (RTMR3).
 */
export type TdxMeasurements = {
  readonly mrTd: string
  readonly rtmr0: string
  readonly rtmr1: string
  readonly rtmr2: string
  /** If absent, not compared. */
  readonly rtmr3?: string
}

export type TdxRule = {
  /** One entry must match in full. */
  readonly measurements: readonly TdxMeasurements[]
  /** In addition to UpToDate; Revoked cannot be listed. */
  readonly acceptedTcbStatuses: readonly TcbStatus[]
  /** Refuses TCB info and QE identity older than this one of Intel's TCB recoveries. */
  readonly minTcbEvaluationDataNumber?: number
  readonly tdAttributes: string
  readonly xfam: string
  /** The accepted builds of the TDX module. If absent, any that Intel signed and TCB info evaluates. */
  readonly mrSeam?: readonly string[]
  readonly mrConfigId?: string
  readonly mrOwner?: string
  readonly mrOwnerConfig?: string
  /** If absent, there must be no service TD at all. */
  readonly mrServiceTd?: string
  /** Hex, 16 bytes each: PPIDs or platform instance ids of the machines. If absent, every genuine one. */
  readonly platformIds?: readonly string[]
  /** Requirements on the revocation lists of Intel's root and of the PCK CA. */
  readonly rootCrl?: CrlRule
  readonly pckCrl?: CrlRule
}

const acceptable = tcbStatuses.filter((status) => status !== 'UpToDate' && status !== 'Revoked')
const registerBytes = 48
const flagBytes = 8

/** Parses a rule from a manifest; refuses with the manifest's own codes. */
export function readTdxRule(fields: Fields): TdxRule {
  const register = (name: string): string => fields.hex(name, registerBytes)
  return {
    measurements: fields.objects('measurements', { min: 1, max: 256 }, readMeasurements),
    acceptedTcbStatuses: fields.array(
      'accepted_tcb_statuses',
      { min: 0, max: 16 },
      (item, path) => {
        const status = acceptable.find((candidate) => candidate === item)
        return status ?? fields.refuse(path, `expected one of ${acceptable.join(', ')}`)
      },
    ),
    ...present(
      'minTcbEvaluationDataNumber',
      fields.optional('min_tcb_evaluation_data_number', (name) => fields.integer(name)),
    ),
    tdAttributes: fields.hex('td_attributes', flagBytes),
    xfam: fields.hex('xfam', flagBytes),
    ...present(
      'mrSeam',
      fields.optional('mr_seam', (name) => readRegisters(fields, name)),
    ),
    ...present('mrConfigId', fields.optional('mr_config_id', register)),
    ...present('mrOwner', fields.optional('mr_owner', register)),
    ...present('mrOwnerConfig', fields.optional('mr_owner_config', register)),
    ...present('mrServiceTd', fields.optional('mr_service_td', register)),
    ...present(
      'platformIds',
      fields.optional('platform_ids', (name) => fields.hexes(name, 16, { min: 1, max: 256 })),
    ),
    ...present('rootCrl', readCrlRule(fields, 'root_crl')),
    ...present('pckCrl', readCrlRule(fields, 'pck_crl')),
  }
}

function readMeasurements(fields: Fields): TdxMeasurements {
  const register = (name: string): string => fields.hex(name, registerBytes)
  return {
    mrTd: register('mr_td'),
    rtmr0: register('rtmr0'),
    rtmr1: register('rtmr1'),
    rtmr2: register('rtmr2'),
    ...present('rtmr3', fields.optional('rtmr3', register)),
  }
}

function readRegisters(fields: Fields, name: string): string[] {
  return fields.array(name, { min: 1, max: 64 }, (item, path) =>
    typeof item === 'string' && /^[0-9a-f]{96}$/.test(item)
      ? item
      : fields.refuse(path, `expected ${registerBytes} bytes in lower-case hex`),
  )
}

function present<Name extends string, T>(name: Name, value: T | undefined): { [K in Name]?: T } {
  return value === undefined ? {} : ({ [name]: value } as { [K in Name]: T })
}
