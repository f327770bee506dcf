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

/** Verifies under the flags that clients have by default. */
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

describe('a revoked GPU that leaves its answers out', () => {
  test('passes by default, and is shown as not checked, never as passed', async () => {
    const worker = await judge(undefined, leftOut)
    expect(worker.revocation).toBe('not checked')
    const about = worker.checks.filter(({ id }) => /^nvidia.*revocation$/.test(id)).slice(1)
    expect(about.length).toBeGreaterThan(5)
    expect(about.every(({ result }) => result === 'skipped')).toBe(true)
    expect(about.every(({ detail }) => detail.startsWith('revocation not checked'))).toBe(true)
  })

  test('is refused where the manifest requires them, whatever the flags say', async () => {
    expect(await rejection(judge({ require: true }, leftOut))).toMatchObject({
      code: 'revocation_unknown',
    })
    expect((await judge({ require: true }, asGiven)).revocation).toBe('checked')
  })
})

test('all answers there and good is checked, without any demand', async () => {
  expect((await judge(undefined, asGiven)).revocation).toBe('checked')
})

test('an answer older than the manifest accepts is no answer; one that says revoked stays one', async () => {
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

test('a revocation inside the grace period is tolerated, and said to be', async () => {
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

test('a manifest only ever tightens what a client demands', () => {
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
])('%j is no demand that a manifest can make', async (revocation) => {
  const inputs = world.inputs({ draft: { revocation } })
  expect(await rejection(inputs)).toMatchObject({ code: 'manifest_malformed' })
})

test('where no certificate was asked for, nothing was checked', () => {
  expect(readRevocationState([])).toBe('not checked')
  const leaf = { id: 'nvidia/chain/0/revocation', result: 'skipped', detail: '' } as const
  const cpu = { id: 'tdx/pck-revocation', result: 'passed', detail: '' } as const
  expect(readRevocationState([leaf])).toBe('not checked')
  expect(readRevocationState([leaf, cpu])).toBe('checked')
  expect(readRevocationState([cpu, { ...cpu, result: 'skipped' }])).toBe('not checked')
})
