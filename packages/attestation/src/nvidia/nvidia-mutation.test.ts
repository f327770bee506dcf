import { describe, expect, test } from 'bun:test'
import { formatFlipReport } from '../testing/flip-bits.ts'
import { authenticate, contextOf, good, goodNonce, world } from '../testing/nvidia-attempts.ts'
import { mutateNvidia } from '../testing/nvidia-mutations.ts'
import { readSwitchVector } from '../testing/nvidia-vectors.ts'
import { gpuEvidence, gpuReport, signReport } from '../testing/nvidia-world.ts'
import { Transcript } from '../verdict.ts'
import { appraiseNvidiaGpu } from './appraise-nvidia.ts'
import type { NvidiaGpuRule } from './rule.ts'

// `scripts/mutate-nvidia.ts` flips every bit; here every 211th, or fewer if there are more.
const every = 211

test('no bit of evidence changes without a typed refusal, except justified ones', async () => {
  const signed = await signReport(world, gpuReport(world))
  const report = new Uint8Array([...signed, 0])
  const evidence = await gpuEvidence(world, { report })
  const flips = await mutateNvidia(evidence, goodNonce, contextOf(), every)
  console.log(formatFlipReport('nvidia, test root', flips))
  expect(flips.survivors).toEqual([])
  expect(flips.flipped).toBeGreaterThan(300)
})

test('no bit of a rule that lists versions changes without a typed refusal', async () => {
  const claims = await authenticate(good)
  const versions = { driver: claims.driverVersion!, vbios: claims.vbiosVersion }
  const appraise = (changed: typeof versions): void => {
    const rule: NvidiaGpuRule = {
      architectures: ['hopper'],
      driver: { kind: 'allowed', versions: [changed.driver] },
      vbios: { kind: 'allowed', versions: [changed.vbios] },
    }
    appraiseNvidiaGpu(claims, rule, new Transcript())
  }
  expect(() => appraise(versions)).not.toThrow()
  let refused = 0
  for (const [name, version] of Object.entries(versions)) {
    for (let bit = 0; bit < version.length * 8; bit++) {
      const bytes = new TextEncoder().encode(version)
      bytes[bit >>> 3]! ^= 1 << (bit & 7)
      const changed = { ...versions, [name]: Buffer.from(bytes).toString('latin1') }
      expect(() => appraise(changed)).toThrow(expect.objectContaining({ code: 'tcb_unlisted' }))
      refused++
    }
  }
  console.log(`nvidia, rule: ${refused} bits flipped, ${refused} refused`)
})

describe('on a real report', () => {
  test('no bit changes without a typed refusal, except justified ones', async () => {
    const { evidence, nonce, context } = readSwitchVector()
    const flips = await mutateNvidia(evidence, nonce, context, 4 * every)
    console.log(formatFlipReport("nvidia, NVIDIA's roots", flips))
    expect(flips.survivors).toEqual([])
  })
})
