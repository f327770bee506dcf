import { beforeAll, expect, test } from 'bun:test'
import { Fields } from '../fields.ts'
import {
  makeTestIntel,
  type TestIntel,
  testQeIdentity,
  testTcbInfo,
} from '../testing/test-intel.ts'
import type { TdxMachine } from '../testing/test-tdx-machine.ts'
import { Transcript } from '../verdict.ts'
import { appraiseTdx, appraiseTdxWithoutManifest } from './appraise-tdx.ts'
import { authenticateTdx } from './authenticate-tdx.ts'
import type { TdxClaims } from './claims.ts'
import { readTdxRule, type TdxRule } from './rule.ts'

let intel: TestIntel
let claims: TdxClaims

beforeAll(async () => {
  intel = await makeTestIntel()
  claims = await claimsOf({})
})

const claimsOf = async (machine: Partial<TdxMachine>, tcbInfo: object = testTcbInfo()) =>
  authenticateTdx(
    await intel.attest(machine, await intel.makeCollateral(tcbInfo)),
    intel.context,
    new Transcript(),
  )

const register = (byte: string) => byte.repeat(48)
const wireRule = {
  measurements: [
    {
      mr_td: register('70'),
      rtmr0: register('10'),
      rtmr1: register('11'),
      rtmr2: register('12'),
      rtmr3: register('13'),
    },
  ],
  accepted_tcb_statuses: ['SWHardeningNeeded'],
  min_tcb_evaluation_data_number: 18,
  td_attributes: '0000001000000000',
  xfam: 'e702060000000000',
  mr_seam: [register('5e')],
  mr_config_id: register('c1'),
  mr_owner: register('c2'),
  mr_owner_config: register('c3'),
  platform_ids: ['00'.repeat(16), '99'.repeat(16)],
  root_crl: { max_age_hours: 87_600 },
  pck_crl: { max_age_hours: 87_600 },
}

function readRule(wire: object): TdxRule {
  const codes = { malformed: 'manifest_malformed', unknown: 'manifest_unsupported' } as const
  const fields = new Fields(wire as never, 'rule', codes)
  const rule = readTdxRule(fields)
  fields.end()
  return rule
}

function verdict(wire: object, subject = claims) {
  const transcript = new Transcript()
  try {
    appraiseTdx(subject, readRule(wire), transcript)
    return { code: 'accepted', checks: transcript.checks }
  } catch (error) {
    return { code: (error as { code?: string }).code, checks: transcript.checks }
  }
}

test('a machine that meets the manifest in every respect is accepted', () => {
  const { code, checks } = verdict(wireRule)
  expect(code).toBe('accepted')
  expect(checks.filter(({ result }) => result === 'skipped').map(({ id }) => id)).toEqual([
    'tdx/service-td',
  ])
})

test.each(['mr_td', 'rtmr0', 'rtmr1', 'rtmr2', 'rtmr3'])('another %s is unknown', (name) => {
  const measurements = [{ ...wireRule.measurements[0], [name]: register('99') }]
  expect(verdict({ ...wireRule, measurements }).code).toBe('measurement_unknown')
  // In addition to the right set, the wrong one does no harm.
  const both = [...measurements, ...wireRule.measurements]
  expect(verdict({ ...wireRule, measurements: both }).code).toBe('accepted')
})

test('registers of two listed sets must not be mixed', () => {
  const [right] = wireRule.measurements
  const measurements = [
    { ...right, rtmr1: register('99') },
    { ...right, mr_td: register('99') },
  ]
  expect(verdict({ ...wireRule, measurements }).code).toBe('measurement_unknown')
})

test.each([
  ['td_attributes', '0000005000000000', 'policy_refused'],
  ['xfam', 'e700060000000000', 'policy_refused'],
  ['mr_seam', [register('99')], 'measurement_unknown'],
  ['mr_config_id', register('99'), 'measurement_unknown'],
  ['mr_owner', register('99'), 'measurement_unknown'],
  ['mr_owner_config', register('99'), 'measurement_unknown'],
  ['mr_service_td', register('99'), 'measurement_unknown'],
  ['min_tcb_evaluation_data_number', 19, 'tcb_too_old'],
  ['platform_ids', ['98'.repeat(16)], 'policy_refused'],
  ['root_crl', { max_age_hours: 1 }, 'crl_stale'],
  ['root_crl', { min_number: 1 }, 'crl_stale'],
  ['pck_crl', { max_age_hours: 1 }, 'crl_stale'],
  ['pck_crl', { min_number: 1 }, 'crl_stale'],
])('another %s is refused', (name, value, code) => {
  expect(verdict({ ...wireRule, [name]: value }).code).toBe(code)
})

test('values that the manifest does not pin are shown as skipped, never as passed', () => {
  const {
    mr_seam: _seam,
    mr_owner: _owner,
    min_tcb_evaluation_data_number: _least,
    platform_ids: _platforms,
    root_crl: _root,
    pck_crl: _pck,
    ...rest
  } = wireRule
  const { code, checks } = verdict(rest)
  expect(code).toBe('accepted')
  for (const id of [
    'tdx/mr-seam',
    'tdx/mr-owner',
    'tdx/tcb-evaluation',
    'tdx/qe-evaluation',
    'tdx/listed-platform',
    'tdx/root-crl/minimum',
    'tdx/pck-crl/minimum',
  ]) {
    expect(checks.find((check) => check.id === id)?.result).toBe('skipped')
  }
})

test('the minimum evaluation applies to both TCB info and QE identity', async () => {
  const claimsOfEvaluation = async (tcb: number, qe: number) => {
    const collateral = await intel.makeCollateral(
      { ...testTcbInfo(), tcbEvaluationDataNumber: tcb },
      { ...testQeIdentity(), tcbEvaluationDataNumber: qe },
    )
    return authenticateTdx(await intel.attest({}, collateral), intel.context, new Transcript())
  }
  expect(verdict(wireRule, await claimsOfEvaluation(18, 18)).code).toBe('accepted')
  for (const [tcb, qe, check] of [
    [17, 18, 'tdx/tcb-evaluation'],
    [18, 17, 'tdx/qe-evaluation'],
  ] as const) {
    const { code, checks } = verdict(wireRule, await claimsOfEvaluation(tcb, qe))
    expect([code, checks.at(-1)?.id]).toEqual(['tcb_too_old', check])
  }
})

test('a machine is identified by its PPID or its instance id, and needs one of them', () => {
  const other = { ...claims, platformIds: ['98'.repeat(16), '97'.repeat(16)] }
  expect(verdict({ ...wireRule, platform_ids: ['97'.repeat(16)] }, other).code).toBe('accepted')
  expect(verdict(wireRule, other).code).toBe('policy_refused')
  expect(verdict(wireRule, { ...claims, platformIds: [] }).code).toBe('policy_refused')
})

test('a TCB status other than UpToDate is accepted only if it is listed', async () => {
  const outOfDate = await claimsOf({ pceSvn: 12 })
  expect(verdict(wireRule, outOfDate).code).toBe('tcb_unlisted')
  const listing = { ...wireRule, accepted_tcb_statuses: ['OutOfDate'] }
  expect(verdict(listing, outOfDate).code).toBe('accepted')
  expect(() => appraiseTdxWithoutManifest(outOfDate, new Transcript())).toThrow('OutOfDate')
  expect(() => appraiseTdxWithoutManifest(claims, new Transcript())).not.toThrow()
})

test('a status with two faults is not accepted if only one of them is listed', async () => {
  const tcbInfo = testTcbInfo()
  tcbInfo.tcbLevels[0]!.tcbStatus = 'ConfigurationNeeded'
  const both = await claimsOf({ teeTcbSvn: Uint8Array.of(5, 1, 3, ...new Uint8Array(13)) }, tcbInfo)
  expect(both.tcb.status).toBe('OutOfDateConfigurationNeeded')
  const one = { ...wireRule, accepted_tcb_statuses: ['OutOfDate', 'ConfigurationNeeded'] }
  expect(verdict(one, both).code).toBe('tcb_unlisted')
})

test('a service TD is refused unless the manifest names it', async () => {
  const machine = { version: 5, bodyType: 3, mrServiceTd: new Uint8Array(48).fill(0x51) } as const
  const served = await claimsOf(machine)
  expect(verdict(wireRule, served).code).toBe('migration_enabled')
  expect(verdict({ ...wireRule, mr_service_td: register('51') }, served).code).toBe('accepted')
  expect(() => appraiseTdxWithoutManifest(served, new Transcript())).toThrow('MRSERVICETD')
})

test.each([
  ['accepted_tcb_statuses', ['Revoked']],
  ['accepted_tcb_statuses', ['UpToDate']],
  ['accepted_tcb_statuses', 'OutOfDate'],
  ['measurements', []],
  ['measurements', [{ mr_td: register('70') }]],
  ['td_attributes', '00'],
  ['xfam', 'E702060000000000'],
  ['mr_seam', ['5e']],
  ['mr_owner', 7],
])('a rule with %s as %j is malformed', (name, value) => {
  expect(() => readRule({ ...wireRule, [name]: value })).toThrow(
    expect.objectContaining({ code: 'manifest_malformed' }),
  )
})

test('a rule without attributes, or with an unknown member, is refused', () => {
  const { td_attributes: _, ...rest } = wireRule
  expect(() => readRule(rest)).toThrow(expect.objectContaining({ code: 'manifest_malformed' }))
  expect(() => readRule({ ...wireRule, mr_td: register('70') })).toThrow(
    expect.objectContaining({ code: 'manifest_unsupported' }),
  )
})
