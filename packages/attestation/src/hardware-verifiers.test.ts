import { beforeAll, expect, test } from 'bun:test'
import { appraiseEvidence } from './appraise-worker.ts'
import { authenticateEvidence } from './authenticate-worker.ts'
import { hardwareVerifiers } from './hardware-verifiers.ts'
import { parseManifestWith } from './manifest/manifest.ts'
import { type HardwareWorld, hardwareWorld } from './testing/hardware-world.ts'
import { Transcript } from './verdict.ts'
import type { HardwareVerifiers } from './verifiers.ts'
import { verifyWorkerWith } from './verify-worker.ts'

let world: HardwareWorld
beforeAll(async () => {
  world = await hardwareWorld()
})

const { snp, tdx, nvidiaGpu } = hardwareVerifiers

test.each([
  ['snp', { snp, nvidiaGpu }],
  ['tdx', { tdx, nvidiaGpu }],
] as const)(
  'a program with verifiers for %s and GPUs accepts such a machine',
  async (cpu, given) => {
    const worker = await verifyWorkerWith(given, await world.inputs({ cpu, gpus: [0] }))
    expect(worker.hardware).toBe(true)
  },
)

test.each([
  ['snp', 'snp/verifier', {}],
  ['snp', 'snp/verifier', { tdx, nvidiaGpu }],
  ['tdx', 'tdx/verifier', { snp, nvidiaGpu }],
  ['snp', 'nvidia-gpu/verifier', { snp, tdx }],
  ['tdx', 'nvidia-gpu/verifier', { snp, tdx }],
] as const)(
  'a %s machine with a GPU is refused at %s by a program that lacks the verifier',
  async (cpu, id, given: HardwareVerifiers) => {
    const inputs = await world.inputs({ cpu, gpus: [0] })
    const failure = await verifyWorkerWith(given, inputs).catch((error) => error)
    expect(failure).toMatchObject({ name: 'AttestationError', code: 'evidence_unsupported' })
    expect(failure.checks.at(-1)).toMatchObject({ id, result: 'failed' })
  },
)

test.each(['snp', 'tdx'] as const)(
  'authentic claims of %s and GPUs are refused by a program that cannot appraise them',
  async (cpu) => {
    const { nonce, statement, evidence, manifest, roots, revocation, at } = await world.inputs({
      cpu,
      gpus: [0],
    })
    const context = { roots, revocation, at }
    const authentic = await authenticateEvidence(
      { nonce, statement, evidence, context, verifiers: hardwareVerifiers },
      new Transcript(),
    )
    const appraise = (verifiers: HardwareVerifiers) => () =>
      appraiseEvidence(authentic, manifest.roles.worker, verifiers, new Transcript())
    expect(appraise(hardwareVerifiers)).not.toThrow()
    expect(appraise({ nvidiaGpu })).toThrow(expect.objectContaining({ code: 'manifest_refused' }))
    expect(appraise({ snp, tdx })).toThrow(
      expect.objectContaining({ code: 'evidence_unsupported' }),
    )
  },
)

test.each(['snp', 'tdx'] as const)(
  'rules that were not read for want of a verifier accept no %s machine, even where it is authentic',
  async (cpu) => {
    const inputs = await world.inputs({ cpu, gpus: [0] })
    const { nonce, statement, evidence, roots, revocation, at } = inputs
    const context = { roots, revocation, at }
    const authentic = await authenticateEvidence(
      { nonce, statement, evidence, context, verifiers: hardwareVerifiers },
      new Transcript(),
    )
    const appraise = async (readers: HardwareVerifiers) => {
      const { roles } = await parseManifestWith(readers, inputs.manifest.bytes)
      return () => appraiseEvidence(authentic, roles.worker, hardwareVerifiers, new Transcript())
    }
    expect(await appraise(hardwareVerifiers)).not.toThrow()
    expect(await appraise({ nvidiaGpu })).toThrow(
      expect.objectContaining({ code: 'manifest_refused' }),
    )
    expect(await appraise({ snp, tdx })).toThrow(
      expect.objectContaining({ code: 'evidence_unsupported' }),
    )
  },
)
