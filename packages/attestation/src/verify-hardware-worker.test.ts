import { beforeAll, expect, test } from 'bun:test'
import { rejection } from '../../../test/rejection.ts'
import { parseManifest } from './manifest/manifest.ts'
import { softwareVerifier } from './software/verifier.ts'
import type { JsonObject } from './strict-json.ts'
import {
  type HardwareRequest,
  type HardwareWorld,
  hardwareWorld,
} from './testing/hardware-world.ts'
import { changedValues, mutateForm } from './testing/manifest-mutations.ts'
import { driverVersion } from './testing/nvidia-world.ts'
import { softwareWorld } from './testing/software-world.ts'
import type { AttestationErrorCode } from './verdict.ts'
import { type VerifyWorkerInputs, verifyWorker } from './verify-worker.ts'

let world: HardwareWorld
beforeAll(async () => {
  world = await hardwareWorld()
})

const refused = async (inputs: VerifyWorkerInputs, code: AttestationErrorCode) =>
  expect(await rejection(verifyWorker(inputs))).toMatchObject({ name: 'AttestationError', code })
const accepting = (...accept: JsonObject[]): HardwareRequest => ({
  draft: { roles: { worker: { accept } } },
})

test.each([
  ['snp', [0]],
  ['snp', [0, 1]],
  ['tdx', [1]],
] as const)('a good %s worker with GPUs %p is attested by hardware', async (cpu, gpus) => {
  const worker = await verifyWorker(await world.inputs({ cpu, gpus }))
  expect(worker).toMatchObject({ workerId: 'w_hardware', hardware: true })
  expect(worker.checks.every(({ result }) => result !== 'failed')).toBe(true)
})

test('a machine without the GPU that the manifest demands is refused', async () => {
  await refused(await world.inputs({ gpus: [] }), 'device_missing')
  await refused(await world.inputs({ cpu: 'tdx', gpus: [] }), 'device_missing')
})

test('one GPU presented twice does not count as two', async () => {
  await refused(await world.inputs({ gpus: [0, 0] }), 'policy_refused')
})

test('more GPUs than the manifest lists, and GPUs that it does not list at all, are refused', async () => {
  const [{ devices }, { devices: _, ...without }] = [world.snpRule, world.snpRule]
  const gpu = (devices as JsonObject)['nvidia-gpu'] as JsonObject
  const one = { ...without, devices: { 'nvidia-gpu': { ...gpu, count: { min: 1, max: 1 } } } }
  await refused(await world.inputs({ ...accepting(one), gpus: [0, 1] }), 'policy_refused')
  await refused(await world.inputs({ ...accepting(without), gpus: [0] }), 'policy_refused')
  const bare = await world.inputs({ ...accepting(without), gpus: [] })
  expect((await verifyWorker(bare)).hardware).toBe(true)
})

test('a GPU from another exchange is refused, although the CPU report binds it', async () => {
  await refused(await world.inputs({ gpuNonce: new Uint8Array(32) }), 'nonce_mismatch')
})

test('GPUs that were swapped for others after the report was made are refused', async () => {
  const [first, second] = [await world.inputs({ gpus: [0] }), await world.inputs({ gpus: [1] })]
  const evidence = { cpu: first.evidence.cpu, devices: second.evidence.devices }
  await refused({ ...first, evidence }, 'binding_mismatch')
})

test('another nonce is refused', async () => {
  const inputs = await world.inputs()
  await refused({ ...inputs, nonce: new Uint8Array(32) }, 'binding_mismatch')
})

test('a kind of machine that the manifest has no rule for is refused', async () => {
  await refused(await world.inputs({ ...accepting(world.tdxRule), cpu: 'snp' }), 'manifest_refused')
  await refused(await world.inputs({ ...accepting(world.snpRule), cpu: 'tdx' }), 'manifest_refused')
})

test('a measurement that the manifest does not list is refused', async () => {
  const rule = { ...world.snpRule, measurements: ['00'.repeat(48)] }
  await refused(await world.inputs(accepting(rule)), 'measurement_unknown')
  // One other rule that accepts is enough.
  await verifyWorker(await world.inputs(accepting(rule, world.snpRule)))
})

test('software evidence is refused under a hardware manifest, even with verifier and root present', async () => {
  const software = await softwareWorld()
  const { manifest } = await world.inputs()
  const inputs = { ...(await software.inputs()), manifest, software: softwareVerifier }
  await refused(inputs, 'software_refused')
})

test('hardware evidence is refused under a software manifest', async () => {
  const { manifest } = await (await softwareWorld()).inputs()
  await refused({ ...(await world.inputs()), manifest }, 'manifest_refused')
})

test('software and hardware rules do not mix', async () => {
  const { draft } = await softwareWorld()
  const [rule] = draft.roles.worker.accept
  const mixed = world.inputs(accepting(world.snpRule, rule!))
  expect(await rejection(mixed)).toMatchObject({ code: 'manifest_mixed' })
  const other = world.inputs({ draft: { evidence: 'software' } })
  expect(await rejection(other)).toMatchObject({ code: 'manifest_mixed' })
})

test('a GPU rule that accepts zero GPUs is refused', async () => {
  const devices = { 'nvidia-gpu': { ...gpuRule(), count: { min: 0, max: 1 } } }
  const lax = world.inputs(accepting({ ...world.snpRule, devices }))
  expect(await rejection(lax)).toMatchObject({ code: 'manifest_malformed' })
  const empty = world.inputs(accepting({ ...world.snpRule, devices: {} }))
  expect(await rejection(empty)).toMatchObject({ code: 'manifest_malformed' })
})

test('no field of a hardware manifest changes its form without a refusal', async () => {
  const { manifest } = await world.inputs()
  const document = JSON.parse(new TextDecoder().decode(manifest.bytes))
  const { changed, refused, justified, survivors } = await mutateForm(document)
  console.log(`manifest of hardware: ${changed} changes of form, ${refused} refused`)
  expect(survivors).toEqual([])
  expect(justified).toEqual([
    'roles.worker.accept[0].devices: removed',
    'roles.worker.accept[1].devices: removed',
    'session_minutes: removed',
  ])
})

test('a GPU in protected PCIe mode is refused without the switches that it names', async () => {
  const mode = (...flags: number[]) => ({ type: 36, value: Uint8Array.from(flags) })
  const links = { type: 22, value: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8) }
  const rule = (change: object) => ({
    ...world.snpRule,
    devices: { 'nvidia-gpu': { ...gpuRule(), modes: ['protected-pcie'], ...change } },
  })
  const opaque = [mode(2, 0), links]
  await refused(await world.inputs({ ...accepting(rule({})), opaque }), 'device_missing')
  // Dropping the rule about modes or about switches does not let it pass either.
  await refused(await world.inputs({ opaque }), 'device_missing')
  const many = { switches: { min: 0, max: 4 }, modes: ['protected-pcie', 'single-pass-through'] }
  await refused(await world.inputs({ ...accepting(rule(many)), opaque }), 'device_missing')
  const single = await world.inputs({ ...accepting(rule(many)), opaque: [mode(0, 0)] })
  expect((await verifyWorker(single)).hardware).toBe(true)
})

test('modes imply switches: a rule for protected PCIe alone requires them', async () => {
  const rule = (switches: object) => ({
    ...world.snpRule,
    devices: {
      'nvidia-gpu': { ...gpuRule(), modes: ['protected-pcie'], switches: { max: 4, ...switches } },
    },
  })
  await world.inputs(accepting(rule({ min: 1 })))
  const lax = world.inputs(accepting(rule({ min: 0 })))
  expect(await rejection(lax)).toMatchObject({ code: 'manifest_malformed' })
})

test('no value of a rule with every field changes without a refusal', async () => {
  const whole = { cpu: 'tdx' as const, gpus: [0] as const }
  const lists = { max_age_hours: 87_600 }
  const id = (length: number, byte: string) => [byte.repeat(length)]
  const chip = Array.from({ length: 64 }, (_, index) => 255 - index)
  const serials = { gpu_serials: [await world.serialOf(0)], modes: ['single-pass-through'] }
  const driver = { allowed: [driverVersion] }
  const devices = { 'nvidia-gpu': { ...gpuRule(), driver, count: { min: 1, max: 1 }, ...serials } }
  const snp = {
    ...world.snpRule,
    devices,
    chip_ids: [Buffer.from(chip).toString('hex')],
    id_key_digests: id(48, '1d'),
    author_key_digests: id(48, 'a0'),
    crl: { min_number: 7, ...lists },
  }
  const tdx = {
    ...world.tdxRule,
    devices,
    min_tcb_evaluation_data_number: 18,
    platform_ids: id(16, '99'),
    root_crl: lists,
    pck_crl: lists,
  }
  for (const [cpu, rule] of [['snp', snp] as const, ['tdx', tdx] as const]) {
    const good = await world.inputs({ ...whole, ...accepting(rule), cpu })
    await verifyWorker(good)
    const document = JSON.parse(new TextDecoder().decode(good.manifest.bytes))
    const survivors: string[] = []
    for (const { what, document: mutant } of changedValues(document)) {
      if (!what.startsWith('roles.worker.accept[0].')) continue
      const outcome = await parseManifest(new TextEncoder().encode(JSON.stringify(mutant)))
        .then((manifest) => verifyWorker({ ...good, manifest }))
        .then(
          () => 'accepted',
          (error) => error.code ?? error,
        )
      if (outcome === 'accepted') survivors.push(what.replace('roles.worker.accept[0].', ''))
    }
    // One more GPU would be accepted too.
    expect(survivors).toEqual(['devices.nvidia-gpu.count.max: another value'])
  }
})

const gpuRule = () => (world.snpRule.devices as JsonObject)['nvidia-gpu'] as JsonObject
