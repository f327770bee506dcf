import { describe, expect, test } from 'bun:test'
import { Fields } from '../fields.ts'
import type { JsonObject } from '../strict-json.ts'
import { authenticate, good } from '../testing/nvidia-attempts.ts'
import { Transcript } from '../verdict.ts'
import { appraiseNvidiaGpu } from './appraise-nvidia.ts'
import type { NvidiaGpuClaims } from './claims.ts'
import { type NvidiaGpuRule, readNvidiaGpuRule } from './rule.ts'
import { isAtLeast } from './version.ts'

const wire = {
  architectures: ['hopper', 'blackwell'],
  driver: { minimum: '550.90.07' },
  vbios: { allowed: ['96.00.9F.00.01', '96.00.AF.00.01'] },
}

function read(document: JsonObject): NvidiaGpuRule {
  const fields = new Fields(document, 'gpu', {
    malformed: 'manifest_malformed',
    unknown: 'manifest_unsupported',
  })
  const rule = readNvidiaGpuRule(fields)
  fields.end()
  return rule
}

describe('a rule', () => {
  test('is parsed from its wire form', () => {
    expect(read({ ...wire, modes: ['single-pass-through'] })).toEqual({
      architectures: ['hopper', 'blackwell'],
      driver: { kind: 'minimum', version: '550.90.07' },
      vbios: { kind: 'allowed', versions: ['96.00.9F.00.01', '96.00.AF.00.01'] },
      modes: ['single-pass-through'],
    })
  })

  test.each<[string, JsonObject]>([
    ['no architecture', { ...wire, architectures: [] }],
    ['an unknown architecture', { ...wire, architectures: ['volta'] }],
    ['an unknown mode', { ...wire, modes: ['shared'] }],
    ['neither minimum nor list', { ...wire, driver: {} }],
    ['minimum and list', { ...wire, driver: { minimum: '1.1', allowed: ['1.1'] } }],
    ['an empty list', { ...wire, driver: { allowed: [] } }],
    ['an invalid version', { ...wire, driver: { minimum: 'latest' } }],
    ['no serial number', { ...wire, gpu_serials: [] }],
    ['a serial number in upper case', { ...wire, gpu_serials: ['0A'] }],
    ['a serial number of 21 bytes', { ...wire, switch_serials: ['0a'.repeat(21)] }],
    ['a serial number twice', { ...wire, switch_serials: ['0a', '0a'] }],
    ['a VBIOS version in lower case', { ...wire, vbios: { minimum: '96.00.9f.00.01' } }],
  ])('with %s is refused', (_, document) => {
    expect(() => read(document)).toThrow(expect.objectContaining({ code: 'manifest_malformed' }))
  })

  test.each<[string, JsonObject]>([
    ['next to the known ones', { ...wire, new_demand: true }],
    ['inside a version rule', { ...wire, driver: { minimum: '1.1', latest: true } }],
  ])('with an unknown field %s is refused', (_, document) => {
    expect(() => read(document)).toThrow(expect.objectContaining({ code: 'manifest_unsupported' }))
  })
})

describe('an authentic device', async () => {
  const claims = await authenticate(good)
  const rule = read(wire)
  const appraise = (change: Partial<NvidiaGpuRule>, about: NvidiaGpuClaims = claims) => {
    const transcript = new Transcript()
    appraiseNvidiaGpu(about, { ...rule, ...change }, transcript)
    return transcript
  }
  const refusing = (change: Partial<NvidiaGpuRule>, code: string, about = claims) =>
    expect(() => appraise(change, about)).toThrow(expect.objectContaining({ code }))

  test('that a rule describes is accepted, and every check is recorded', () => {
    expect(appraise({}).checks.map(({ id, result }) => `${id} ${result}`)).toEqual([
      'nvidia/manifest/architecture passed',
      'nvidia/manifest/serial skipped',
      'nvidia/manifest/driver passed',
      'nvidia/manifest/vbios passed',
    ])
  })

  test('of another architecture is refused', () =>
    refusing({ architectures: ['blackwell', 'ls10'] }, 'policy_refused'))

  test('that is not listed by its serial number is refused', () => {
    appraise({ gpuSerials: ['00', claims.deviceId] })
    appraise({ switchSerials: ['00'] })
    refusing({ gpuSerials: ['00'] }, 'policy_refused')
    const nvswitch = { ...claims, device: 'switch' } as NvidiaGpuClaims
    appraise({ gpuSerials: ['00'], switchSerials: [claims.deviceId] }, nvswitch)
    refusing({ switchSerials: ['00'] }, 'policy_refused', nvswitch)
  })

  test('that is a switch has no mode', () => {
    const { mode: _, ...rest } = claims
    appraise({ modes: ['protected-pcie'] }, { ...rest, device: 'switch' } as NvidiaGpuClaims)
  })

  test('with an older driver is refused', () =>
    refusing({ driver: { kind: 'minimum', version: '550.90.08' } }, 'tcb_too_old'))

  test('with a driver that is not listed is refused', () =>
    refusing({ driver: { kind: 'allowed', versions: ['550.90.08'] } }, 'tcb_unlisted'))

  test('with an older VBIOS is refused', () =>
    refusing({ vbios: { kind: 'minimum', version: '96.00.A0.00.00' } }, 'tcb_too_old'))

  test('with a VBIOS that is not listed is refused', () =>
    refusing({ vbios: { kind: 'allowed', versions: ['96.00.9F.00.02'] } }, 'tcb_unlisted'))

  test('in a mode that is not listed is refused', () => {
    appraise({ modes: ['single-pass-through'] })
    refusing({ modes: ['protected-pcie'] }, 'policy_refused')
  })

  test('that does not state its mode is refused where modes are listed', () => {
    const { mode: _, ...rest } = claims
    refusing({ modes: ['single-pass-through'] }, 'policy_refused', rest as NvidiaGpuClaims)
  })

  test('without a driver shows that check as skipped', () => {
    const { driverVersion: _, ...rest } = claims
    const { checks } = appraise({}, rest as NvidiaGpuClaims)
    expect(checks).toContainEqual(
      expect.objectContaining({ id: 'nvidia/manifest/driver', result: 'skipped' }),
    )
  })
})

test.each([
  ['driver', '550.90.07', '550.90.07', true],
  ['driver', '550.144.03', '550.90.07', true],
  ['driver', '545.99.99', '550.0', false],
  ['driver', '560.00', '560.00.01', false],
  ['driver', '560.00.01', '560.00', true],
  ['driver', '1000.1', '999.9', true],
  ['vbios', '96.00.A0.00.01', '96.00.9F.00.02', true],
  ['vbios', '96.00.9F.00.01', '96.00.A0.00.00', false],
] as const)('%s %s is at least %s: %p', (kind, version, minimum, expected) => {
  expect(isAtLeast(kind, version, minimum)).toBe(expected)
})
