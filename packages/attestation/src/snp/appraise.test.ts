import { describe, expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import { formatBase64 } from '../bytes.ts'
import { integer } from '../der/der-writer.ts'
import { Fields } from '../fields.ts'
import type { JsonValue } from '../strict-json.ts'
import { authenticate } from '../testing/snp-refusal.ts'
import {
  packTcb,
  type ReportRequest,
  type SnpWorld,
  snpWorld,
  testCspId,
  testTcb,
} from '../testing/snp-world.ts'
import { type CrlRequest, issueCrl } from '../testing/test-authority.ts'
import { AttestationError, type AttestationErrorCode, Transcript } from '../verdict.ts'
import { appraiseSnp } from './appraise.ts'
import { readSnpRule, type SnpRule } from './rule.ts'

const genoa = await snpWorld('Genoa')
const turin = await snpWorld('Turin')
const vlek = await snpWorld('Genoa', 'vlek')

/** A rule in wire form that accepts what a test world attests by default. */
const wireRule = {
  measurements: ['00'.repeat(48), 'ab'.repeat(48)],
  minimum_tcb: { Genoa: testTcb.Genoa, Turin: testTcb.Turin },
  signers: ['vcek'],
  guest_policy: { allow: ['smt'], require: [] },
  platform: { allow: ['smt'], require: ['ecc', 'alias_check_complete'] },
}

function parseRule(wire: object): SnpRule {
  const codes = { malformed: 'manifest_malformed', unknown: 'manifest_unsupported' } as const
  const fields = new Fields(wire as JsonValue, 'rule', codes)
  const rule = readSnpRule(fields)
  fields.end()
  return rule
}

async function appraise(rule: object, report: ReportRequest = {}, world: SnpWorld = genoa) {
  const claims = await authenticate(await world.attest(report), world.context)
  const transcript = new Transcript()
  appraiseSnp(claims, parseRule({ ...wireRule, ...rule }), transcript)
  return transcript.checks
}

async function refused(
  code: AttestationErrorCode,
  check: string,
  ...inputs: Parameters<typeof appraise>
) {
  const error = await appraise(...inputs).catch((error) => error)
  expect(error).toBeInstanceOf(AttestationError)
  expect([error.code, error.checks.at(-1).id]).toEqual([code, check])
}

const patch = (at: number, ...bytes: number[]): ReportRequest => ({
  patches: [{ at, bytes: Uint8Array.from(bytes) }],
})
/** Byte 2 of the policy has bits 16 to 23; bit 17 is always one. */
const policyByte = (bits: number): ReportRequest => patch(0x0a, 0b10 | bits)

describe('appraisal', () => {
  test('accepts what the rule lists, and skips only what the rule leaves open', async () => {
    const checks = await appraise({})
    const skipped = checks.filter(({ result }) => result !== 'passed').map(({ id }) => id)
    expect(skipped).toEqual([
      'snp/host-data',
      'snp/listed-chip',
      'snp/id-key',
      'snp/author-key',
      'snp/crl/minimum',
    ])
    await appraise({}, { version: 5 }, turin)
  })

  test('refuses a measurement that is not listed', async () => {
    const rule = { measurements: [`${'ab'.repeat(47)}aa`] }
    await refused('measurement_unknown', 'snp/measurement', rule)
  })

  test('refuses a guest that may be debugged or migrated, whatever the rule says', async () => {
    await refused('debug_enabled', 'snp/debug', {}, policyByte(1 << 3))
    await refused('migration_enabled', 'snp/migration-agent', {}, policyByte(1 << 2))
    for (const flag of ['debug', 'migration_agent']) {
      const guest_policy = { allow: [flag], require: [] }
      expect(() => parseRule({ ...wireRule, guest_policy })).toThrow(AttestationError)
    }
  })

  test('refuses every component below the minimum, in each of the three TCBs', async () => {
    for (const [component, level] of Object.entries(testTcb.Genoa)) {
      const minimum_tcb = { Genoa: { ...testTcb.Genoa, [component]: level + 1 } }
      await refused('tcb_too_old', 'snp/reported-tcb-minimum', { minimum_tcb })
      const low = packTcb('Genoa', { ...testTcb.Genoa, [component]: level - 1 })
      const committed = patch(0x1e0, ...low)
      await refused('tcb_too_old', 'snp/committed-tcb-minimum', {}, committed)
      await refused('tcb_too_old', 'snp/launch-tcb-minimum', {}, patch(0x1f0, ...low))
    }
  })

  test('does not let a high component make up for a low one', async () => {
    const launch = packTcb('Genoa', { bootloader: 255, tee: 255, snp: 22, microcode: 255 })
    await refused('tcb_too_old', 'snp/launch-tcb-minimum', {}, patch(0x1f0, ...launch))
  })

  test('refuses a product without a minimum TCB', async () => {
    const minimum_tcb = { Turin: testTcb.Turin }
    await refused('policy_refused', 'snp/allowed-product', { minimum_tcb })
  })

  test('refuses a privilege level other than the one the rule names', async () => {
    await refused('policy_refused', 'snp/vmpl', {}, patch(0x30, 1))
    await refused('policy_refused', 'snp/vmpl', { vmpl: 1 })
    await appraise({ vmpl: 1 }, patch(0x30, 1))
  })

  test('refuses host data other than what the rule pins', async () => {
    const host_data = `07${'00'.repeat(31)}`
    await refused('policy_refused', 'snp/host-data', { host_data })
    await appraise({ host_data }, patch(0xc0, 7))
  })

  test('refuses a signer, or a provider’s VLEK, that the rule does not name', async () => {
    await refused('policy_refused', 'snp/allowed-signer', {}, {}, vlek)
    const other = { signers: ['vcek', 'vlek'], csp_ids: ['other.example'] }
    await refused('policy_refused', 'snp/csp-id', other, {}, vlek)
    await appraise({ signers: ['vlek'], csp_ids: [testCspId] }, {}, vlek)
  })

  test('refuses a policy that is too open, lacks a required flag, or has an unknown bit', async () => {
    const id = 'snp/guest-policy'
    await refused('policy_refused', id, { guest_policy: { allow: [], require: [] } })
    await refused('policy_refused', id, {}, policyByte(1 << 5))
    const guest_policy = { allow: ['smt', 'cxl'], require: ['single_socket'] }
    await refused('policy_refused', id, { guest_policy })
    await appraise({ guest_policy }, policyByte((1 << 4) | (1 << 5)))
    await refused('policy_refused', id, {}, patch(0x0b, 1 << 2))
    await refused('policy_refused', id, {}, patch(0x0f, 0x80))
  })

  test('accepts a guest that demands more of the platform than the rule does', async () => {
    await appraise({}, patch(0x0a, 0b1101_0011, 0b11))
  })

  test('refuses a platform that is too open, lacks a protection, or has an unknown bit', async () => {
    const id = 'snp/platform'
    await refused('policy_refused', id, { platform: { allow: [], require: [] } })
    await refused('policy_refused', id, {}, patch(0x40, 0xa5))
    await refused('policy_refused', id, {}, patch(0x40, 0x21))
    await refused('policy_refused', id, {}, patch(0x40, 0x05))
    await refused('policy_refused', id, {}, patch(0x41, 1))
    await appraise({ platform: { allow: ['tio'], require: ['tsme'] } }, patch(0x40, 0xbe))
  })

  test('knows bit 6 of the platform, which real Turin machines set, as a protection', async () => {
    const report = { version: 5, ...patch(0x40, 0x65) }
    await appraise({}, report, turin)
    const platform = { allow: ['smt'], require: ['iommu_write_safe'] }
    await appraise({ platform }, report, turin)
    await refused('policy_refused', 'snp/platform', { platform }, { version: 5 }, turin)
  })

  test('accepts an unnamed bit only if the rule lists its number', async () => {
    const platform = { ...wireRule.platform, allow_bits: [8] }
    await refused('policy_refused', 'snp/platform', {}, patch(0x41, 1))
    await appraise({ platform }, patch(0x41, 1))
    await refused('policy_refused', 'snp/platform', { platform }, patch(0x41, 2))
    const guest_policy = { allow: [], require: [], allow_bits: [16, 26] }
    await appraise({ guest_policy }, patch(0x0b, 1 << 2))
    await refused('policy_refused', 'snp/guest-policy', { guest_policy }, patch(0x0b, 1 << 3))
    const debug = { allow: ['smt'], require: [], allow_bits: [18, 19] }
    await refused('debug_enabled', 'snp/debug', { guest_policy: debug }, policyByte(1 << 3))
    await refused(
      'migration_enabled',
      'snp/migration-agent',
      { guest_policy: debug },
      policyByte(4),
    )
  })

  test('refuses a chip that the rule does not list', async () => {
    const chip = Array.from({ length: 64 }, (_, index) => 255 - index)
    const listed = Buffer.from(chip).toString('hex')
    await appraise({ chip_ids: ['00'.repeat(64), listed] })
    await refused('policy_refused', 'snp/listed-chip', { chip_ids: [`00${listed.slice(2)}`] })
  })

  test('refuses a guest launched with an ID key or author key other than the pinned one', async () => {
    const pinned = 'c1'.repeat(48)
    const key = new Array<number>(48).fill(0xc1)
    await appraise({ id_key_digests: [pinned] }, patch(0xe0, ...key))
    await refused('policy_refused', 'snp/id-key', { id_key_digests: [pinned] })
    await refused(
      'policy_refused',
      'snp/id-key',
      { id_key_digests: [pinned] },
      patch(0x110, ...key),
    )
    await appraise({ author_key_digests: [pinned] }, patch(0x110, ...key))
    await refused('policy_refused', 'snp/author-key', { author_key_digests: [pinned] })
  })

  test('refuses a revocation list below the number, or above the age, that the rule sets', async () => {
    const judge = async (crl: object, request: Partial<CrlRequest>, lists = 1) => {
      const thisUpdate = new Date(genoa.context.at.getTime() - 48 * 3_600_000)
      const der = await issueCrl({ issuer: genoa.ark, thisUpdate, ...request })
      const evidence = { ...(await genoa.attest()), crls: [formatBase64(der)] }
      const claims = await authenticate(evidence, genoa.context)
      const given = lists === 0 ? { ...claims, crl: undefined } : claims
      appraiseSnp(given, parseRule({ ...wireRule, crl }), new Transcript())
    }
    const numbered = (value: number) => ({
      extensions: [{ oid: '2.5.29.20', value: integer(value) }],
    })
    await judge({ min_number: 7, max_age_hours: 48 }, numbered(7))
    const stale = { code: 'crl_stale' }
    expect(await rejection(judge({ min_number: 8 }, numbered(7)))).toMatchObject(stale)
    expect(await rejection(judge({ min_number: 0 }, {}))).toMatchObject(stale)
    expect(await rejection(judge({ max_age_hours: 47 }, numbered(7)))).toMatchObject(stale)
    const absent = judge({ max_age_hours: 48 }, {}, 0)
    expect(await rejection(absent)).toMatchObject({ code: 'crl_missing' })
  })
})

describe('a rule', () => {
  const { minimum_tcb, ...withoutTcb } = wireRule

  test.each<[string, object]>([
    ['no measurement', { measurements: [] }],
    ['a short measurement', { measurements: ['ab'] }],
    ['no product', { minimum_tcb: {} }],
    ['a missing level', { minimum_tcb: { Genoa: { bootloader: 1, tee: 1, snp: 1 } } }],
    ['a level above a byte', { minimum_tcb: { Genoa: { ...testTcb.Genoa, snp: 256 } } }],
    ['no signer', { signers: [] }],
    ['a signer twice', { signers: ['vcek', 'vcek'] }],
    ['an unknown signer', { signers: ['none'] }],
    ['a VLEK without a provider', { signers: ['vlek'] }],
    ['a VLEK with an empty provider list', { signers: ['vlek'], csp_ids: [] }],
    ['a privilege level of 4', { vmpl: 4 }],
    ['short host data', { host_data: '00' }],
    ['an unknown flag', { platform: { allow: [], require: ['sgx'] } }],
    ['a chip id of eight bytes', { chip_ids: ['00'.repeat(8)] }],
    ['a chip id twice', { chip_ids: ['00'.repeat(64), '00'.repeat(64)] }],
    ['no chip', { chip_ids: [] }],
    [
      'chips together with a VLEK',
      { chip_ids: ['00'.repeat(64)], signers: ['vcek', 'vlek'], csp_ids: [testCspId] },
    ],
    ['an ID key of zeros', { id_key_digests: ['00'.repeat(48)] }],
    ['an author key of zeros', { author_key_digests: ['00'.repeat(48)] }],
    ['an empty revocation list rule', { crl: {} }],
    ['a maximum age of zero', { crl: { max_age_hours: 0 } }],
    ['a bit of the ABI version', { guest_policy: { allow: [], require: [], allow_bits: [15] } }],
    ['a bit beyond the field', { platform: { allow: [], require: [], allow_bits: [64] } }],
    ['half a bit', { platform: { allow: [], require: [], allow_bits: [8.5] } }],
    ['an open flag as a demand', { guest_policy: { allow: [], require: ['smt'] } }],
  ])('with %s is malformed', (_, change) => {
    expect(() => parseRule({ ...wireRule, ...change })).toThrow(
      expect.objectContaining({ code: 'manifest_malformed' }),
    )
  })

  test.each<[string, object]>([
    ['an unknown member', { extra: 1 }],
    ['an unknown product', { minimum_tcb: { ...minimum_tcb, Venice: {} } }],
    ['FMC where the product has none', { minimum_tcb: { Genoa: { ...testTcb.Genoa, fmc: 1 } } }],
    ['providers where no VLEK is accepted', { csp_ids: [testCspId] }],
  ])('with %s is refused as a newer version', (_, change) => {
    expect(() => parseRule({ ...wireRule, ...change })).toThrow(
      expect.objectContaining({ code: 'manifest_unsupported' }),
    )
  })

  test('requires every member except the privilege level and the host data', () => {
    expect(parseRule(wireRule)).toMatchObject({ vmpl: 0, hostData: undefined, cspIds: [] })
    expect(() => parseRule(withoutTcb)).toThrow(AttestationError)
  })
})
