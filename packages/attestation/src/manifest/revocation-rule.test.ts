import { beforeAll, describe, expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import { formatBase64 } from '../bytes.ts'
import type { NvidiaGpuEvidence, RevocationPolicy } from '../evidence.ts'
import { readRevocationState } from '../revocation-state.ts'
import { type HardwareWorld, hardwareWorld } from '../testing/hardware-world.ts'
import { gpuOcsp } from '../testing/nvidia-world.ts'
import { testNow } from '../testing/test-authority.ts'
import { verifyWorker } from '../verify-worker.ts'
import { tightenRevocation } from './revocation-rule.ts'

const lenient = { allowUnknown: true, revokedGraceHours: 48 }
const hoursAgo = (hours: number) => new Date(testNow.getTime() - hours * 3_600_000)

let world: HardwareWorld
beforeAll(async () => {
  world = await hardwareWorld()
})

/** Verifies with the clients' default flags. */
async function judge(
  revocation: object | undefined,
  change: (evidence: NvidiaGpuEvidence) => Promise<Partial<NvidiaGpuEvidence>>,
  policy: RevocationPolicy = lenient,
) {
  const draft = revocation === undefined ? {} : { revocation: revocation as never }
  const inputs = await world.inputs({ draft })
  const [device] = inputs.evidence.devices
  const devices = [{ ...device!, ...(await change(device!)) }]
  const evidence = { ...inputs.evidence, devices }
  return verifyWorker({ ...inputs, evidence, revocation: policy })
}

const asGiven = async () => ({})
const leftOut = async () => ({ ocsp: [] })
const answering = (answer: object) => async () => ({
  ocsp: (await gpuOcsp(world.gpus[0]!, () => answer)).map(formatBase64),
})

describe('a revoked GPU that omits its OCSP responses', () => {
  test('passes by default, and is shown as not checked, never as passed', async () => {
    const worker = await judge(undefined, leftOut)
    expect(worker.revocation).toBe('not checked')
    const about = worker.checks.filter(({ id }) => /^nvidia.*revocation$/.test(id)).slice(1)
    expect(about.length).toBeGreaterThan(5)
    expect(about.every(({ result }) => result === 'skipped')).toBe(true)
    expect(about.every(({ detail }) => detail.startsWith('revocation not checked'))).toBe(true)
  })

  test('is refused if the manifest requires them, whatever the flags say', async () => {
    expect(await rejection(judge({ require: true }, leftOut))).toMatchObject({
      code: 'revocation_unknown',
    })
    expect((await judge({ require: true }, asGiven)).revocation).toBe('checked')
  })
})

test('complete, good responses count as checked, even if not required', async () => {
  expect((await judge(undefined, asGiven)).revocation).toBe('checked')
})

test('a response older than the manifest accepts is ignored, unless it says revoked', async () => {
  const old = answering({ thisUpdate: hoursAgo(25) })
  expect((await judge({ require: true, max_age_hours: 26 }, old)).revocation).toBe('checked')
  const tooOld = judge({ require: true, max_age_hours: 24 }, old)
  expect(await rejection(tooOld)).toMatchObject({ code: 'revocation_unknown' })
  const status = { revokedAt: hoursAgo(100) }
  const revoked = judge(
    { require: true, max_age_hours: 24 },
    answering({ thisUpdate: hoursAgo(25), status }),
  )
  expect(await rejection(revoked)).toMatchObject({ code: 'certificate_revoked' })
})

test('a revocation within the grace period is tolerated, and reported as such', async () => {
  const revoked = answering({ status: { revokedAt: hoursAgo(2) } })
  expect((await judge(undefined, revoked)).revocation).toBe('tolerated')
  expect((await judge({ require: true, revoked_grace_hours: 3 }, revoked)).revocation).toBe(
    'tolerated',
  )
  for (const revoked_grace_hours of [0, 1]) {
    const strict = judge({ require: true, revoked_grace_hours }, revoked)
    expect(await rejection(strict)).toMatchObject({ code: 'certificate_revoked' })
  }
})

test('a manifest can only tighten what a client demands', () => {
  const strict = { allowUnknown: false, revokedGraceHours: 0 }
  const lax = { require: true, maxAgeHours: undefined, revokedGraceHours: 100 } as const
  expect(tightenRevocation(strict, lax)).toEqual(strict)
  expect(tightenRevocation(lenient, lax)).toEqual({ ...lenient, allowUnknown: false })
  expect(tightenRevocation(lenient, undefined)).toEqual(lenient)
})

test.each([
  { require: false },
  {},
  { require: 1 },
  { require: true, max_age_hours: 0 },
  { require: true, revoked_grace_hours: -1 },
])('%j is refused as a revocation rule', async (revocation) => {
  const inputs = world.inputs({ draft: { revocation } })
  expect(await rejection(inputs)).toMatchObject({ code: 'manifest_malformed' })
})

test('if no certificate was looked up, revocation was not checked', () => {
  expect(readRevocationState([])).toBe('not checked')
  const leaf = { id: 'nvidia/chain/0/revocation', result: 'skipped', detail: '' } as const
  const cpu = { id: 'tdx/pck-revocation', result: 'passed', detail: '' } as const
  expect(readRevocationState([leaf])).toBe('not checked')
  expect(readRevocationState([leaf, cpu])).toBe('checked')
  expect(readRevocationState([cpu, { ...cpu, result: 'skipped' }])).toBe('not checked')
})
