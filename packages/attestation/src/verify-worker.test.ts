import { beforeAll, expect, test } from 'bun:test'
import { rejection } from '../../../test/rejection.ts'
import { isAttestedWorker } from './attested-worker.ts'
import { formatBase64, formatHex, parseBase64, utf8 } from './bytes.ts'
import { sha256 } from './digest.ts'
import type { SoftwareEvidence } from './evidence.ts'
import { formatManifest, parseManifest } from './manifest/manifest.ts'
import { vendorRoots } from './roots.ts'
import {
  createSoftwareRoot,
  issueSoftwareLeaf,
  produceSoftwareEvidence,
  softwareRootFingerprint,
} from './software/producer.ts'
import type { SoftwareVerifier } from './software/verifier.ts'
import { formatStatement } from './statement.ts'
import { chatModel, noon, type SoftwareWorld, softwareWorld } from './testing/software-world.ts'
import { AttestationError, type AttestationErrorCode, type Check } from './verdict.ts'
import { type VerifyWorkerInputs, verifyWorker } from './verify-worker.ts'

let world: SoftwareWorld
beforeAll(async () => {
  world = await softwareWorld()
})

const refused = async (inputs: VerifyWorkerInputs, code: AttestationErrorCode) =>
  expect(await rejection(verifyWorker(inputs))).toMatchObject({ name: 'AttestationError', code })

test('a good software worker is attested, and marked as not protected by hardware', async () => {
  const inputs = await world.inputs()
  const worker = await verifyWorker(inputs)
  expect(isAttestedWorker(worker)).toBe(true)
  expect(worker).toMatchObject({
    workerId: 'w_test',
    role: 'worker',
    hardware: false,
    models: [chatModel],
    verifiedAt: noon,
    validUntil: new Date('2026-03-01T12:55:00Z'),
    manifestDigest: inputs.manifest.digest,
  })
  expect(worker.sealKey.publicKey).toEqual(world.statement.sealKey.publicKey)
  expect(worker.statementDigest).toEqual(await sha256(inputs.statement))
  expect(worker.checks.every((check) => check.result === 'passed')).toBe(true)
})

test('neither a copy nor a look-alike of an attested worker is one', async () => {
  const worker = await verifyWorker(await world.inputs())
  expect(isAttestedWorker({ ...worker })).toBe(false)
  expect(isAttestedWorker(Object.create(worker))).toBe(false)
  expect(isAttestedWorker(undefined)).toBe(false)
  expect(Object.isFrozen(worker)).toBe(true)
})

test('an internal error is thrown unchanged, not as a refusal', async () => {
  const inputs = await world.inputs()
  const fault = new TypeError('a fault')
  const thrown = (changes: Partial<SoftwareVerifier>) =>
    verifyWorker({ ...inputs, software: { ...inputs.software!, ...changes } })
  expect(await rejection(thrown({ authenticate: () => Promise.reject(fault) }))).toBe(fault)
  const appraise = () => {
    throw fault
  }
  expect(await rejection(thrown({ appraise }))).toBe(fault)
})

test('a refusal that carries more checks than were made here keeps them', async () => {
  const inputs = await world.inputs()
  const checks = Array<Check>(9).fill({ id: 'a/check', result: 'failed', detail: 'made elsewhere' })
  const refusal = new AttestationError('software_refused', 'no', { checks })
  const authenticate = () => Promise.reject(refusal)
  const attempt = verifyWorker({ ...inputs, software: { ...inputs.software!, authenticate } })
  expect(await rejection(attempt)).toBe(refusal)
})

test('gate 1: without a software verifier, software evidence is refused', async () => {
  const { software: _, ...inputs } = await world.inputs()
  await refused(inputs, 'software_refused')
})

test('gate 2: without a software root, software evidence is refused', async () => {
  await refused({ ...(await world.inputs()), roots: vendorRoots }, 'software_refused')
})

test('gate 2: a software root that is not pinned is refused', async () => {
  const roots = { ...vendorRoots, software: ['00'.repeat(32)] }
  await refused({ ...(await world.inputs()), roots }, 'chain_untrusted')
})

test('gate 3: a hardware manifest refuses software evidence', async () => {
  const inputs = await world.inputs()
  // No parser produces such a manifest; the gate does not rely on the parser.
  const manifest = { ...inputs.manifest, evidence: 'hardware' as const }
  await refused({ ...inputs, manifest }, 'software_refused')
})

test('a manifest that names another root of the pinned ones is refused', async () => {
  const rule = { ...world.draft.roles.worker.accept[0], root: 'ab'.repeat(32) }
  const inputs = await world.inputs({ draft: { roles: { worker: { accept: [rule] } } } })
  await refused(inputs, 'chain_untrusted')
})

test('another nonce, another statement or another binding is refused', async () => {
  const inputs = await world.inputs()
  const nonce = inputs.nonce.map((byte, index) => (index === 31 ? byte ^ 1 : byte))
  await refused({ ...inputs, nonce }, 'binding_mismatch')
  await refused({ ...inputs, nonce: inputs.nonce.subarray(1) }, 'nonce_mismatch')
  const statement = formatStatement({ ...world.statement, workerId: 'w_other' })
  await refused({ ...inputs, statement }, 'binding_mismatch')
  const report = { reportData: new Uint8Array(64) }
  await refused(await world.inputs({ report }), 'binding_mismatch')
})

test('device evidence that the report does not bind is refused', async () => {
  const inputs = await world.inputs()
  const device = {
    kind: 'nvidia-gpu',
    report: 'AAAA',
    certificate_chain: '',
    rims: [],
    ocsp: [],
  } as const
  const evidence = { ...inputs.evidence, devices: [device] }
  await refused({ ...inputs, evidence }, 'binding_mismatch')
  const unreadable = { ...inputs.evidence, devices: [{ ...device, report: '?' }] }
  await refused({ ...inputs, evidence: unreadable }, 'evidence_malformed')
})

test('a measurement one bit off is refused', async () => {
  const measurement = world.measurement.map((byte, index) => (index === 0 ? byte ^ 1 : byte))
  await refused(await world.inputs({ report: { measurement } }), 'measurement_unknown')
})

test('debug mode and an old TCB are refused', async () => {
  await refused(await world.inputs({ report: { debug: true } }), 'debug_enabled')
  await refused(await world.inputs({ report: { tcb: 0 } }), 'tcb_too_old')
})

test('any one of several rules may accept; a refusal requires all of them to refuse', async () => {
  const [rule] = world.draft.roles.worker.accept
  const other = { ...rule, measurements: ['00'.repeat(48)] }
  const accept = (...rules: (typeof other)[]) => ({
    draft: { roles: { worker: { accept: rules } } },
  })
  await verifyWorker(await world.inputs(accept(other, { ...rule } as typeof other)))
  await refused(await world.inputs(accept(other, other)), 'measurement_unknown')
})

test('a report signed by another key is refused', async () => {
  const inputs = await world.inputs()
  const stranger = await issueSoftwareLeaf(world.root, { name: 'other', at: noon, days: 1 })
  const cpu = inputs.evidence.cpu as SoftwareEvidence
  const certificates = stranger.certificates.map(formatBase64)
  const evidence = { cpu: { ...cpu, certificates }, devices: [] }
  await refused({ ...inputs, evidence }, 'signature_invalid')
})

test('a leaf of another root, shown with the pinned root, is refused', async () => {
  const inputs = await world.inputs()
  const otherRoot = await createSoftwareRoot({ name: 'test root', at: noon, days: 365 })
  const leaf = await issueSoftwareLeaf(otherRoot, { name: 'test worker', at: noon, days: 1 })
  const certificates = [...leaf.certificates.slice(0, 1), ...world.root.certificates]
  const reportData = new Uint8Array(64)
  const cpu = await produceSoftwareEvidence(
    { certificates, privateKey: leaf.privateKey },
    { measurement: world.measurement, reportData },
  )
  await refused({ ...inputs, evidence: { cpu, devices: [] } }, 'signature_invalid')
})

test('the root itself may not sign reports, and a leaf may not issue leaves', async () => {
  const inputs = await world.inputs()
  const root = await softwareRootFingerprint(world.root)
  expect(root).toBe(world.fingerprint)
  const selfSigned = {
    ...world.root,
    certificates: [...world.root.certificates, ...world.root.certificates],
  }
  const bound = { measurement: world.measurement, reportData: new Uint8Array(64) }
  const cpu = await produceSoftwareEvidence(selfSigned, bound)
  await refused({ ...inputs, evidence: { cpu, devices: [] } }, 'chain_mismatch')
  const below = await issueSoftwareLeaf(world.leaf, { name: 'below', at: noon, days: 1 })
  const cpuBelow = await produceSoftwareEvidence(below, bound)
  await refused({ ...inputs, evidence: { cpu: cpuBelow, devices: [] } }, 'chain_mismatch')
})

test('evidence outside the validity of its certificates is refused', async () => {
  const inputs = await world.inputs()
  await refused({ ...inputs, at: new Date('2026-03-03T00:00:00Z') }, 'certificate_expired')
  await refused({ ...inputs, at: new Date('2026-02-01T00:00:00Z') }, 'certificate_expired')
  await refused({ ...inputs, at: new Date(Number.NaN) }, 'certificate_expired')
})

test('an expired seal key is refused, and a session never outlives the key', async () => {
  const key = world.statement.sealKey
  const expiring = (expiresAt: Date) =>
    world.inputs({ statement: { sealKey: { ...key, expiresAt } } })
  await refused(await expiring(noon), 'statement_expired')
  const soon = new Date('2026-03-01T12:10:00Z')
  expect((await verifyWorker(await expiring(soon))).validUntil).toEqual(soon)
})

test('the manifest may shorten a session', async () => {
  const worker = await verifyWorker(await world.inputs({ draft: { sessionMinutes: 5 } }))
  expect(worker.validUntil).toEqual(new Date('2026-03-01T12:05:00Z'))
})

test('only models that the manifest lists with the same weights are offered', async () => {
  const sameName = { ...chatModel, digest: `sha256:${'2f'.repeat(32)}` }
  await refused(await world.inputs({ statement: { models: [sameName] } }), 'model_unlisted')
  const unlisted = { ...chatModel, id: 'unlisted' }
  const worker = await verifyWorker(
    await world.inputs({ statement: { models: [unlisted, { ...chatModel, displayName: 'x' }] } }),
  )
  expect(worker.models).toEqual([chatModel])
})

test('a machine is not accepted in another role', async () => {
  await refused(await world.inputs({ statement: { role: 'proxyless' } }), 'manifest_refused')
  await refused({ ...(await world.inputs()), role: 'proxyless' }, 'manifest_refused')
  const { worker } = world.draft.roles
  const without = await world.inputs({ draft: { roles: { worker } } })
  await refused({ ...without, role: 'proxyless' }, 'manifest_refused')
  const hosted = await world.inputs({ statement: { role: 'proxyless', models: [] } })
  expect(await verifyWorker({ ...hosted, role: 'proxyless' })).toMatchObject({ models: [] })
})

test('a bound statement that cannot be parsed is refused', async () => {
  const statement = utf8('{"version":1}')
  const evidence = await world.attest(statement)
  await refused({ ...(await world.inputs()), statement, evidence }, 'statement_malformed')
})

test('a refusal carries every check before it and ends with the failed one', async () => {
  const inputs = await world.inputs({ report: { tcb: 0 } })
  const error = await verifyWorker(inputs).catch((error) => error)
  const results = error.checks.map((check: { result: string }) => check.result)
  expect(results.slice(0, -1).every((result: string) => result === 'passed')).toBe(true)
  expect(error.checks.at(-1)).toMatchObject({ id: 'software/tcb', result: 'failed' })
  expect(results.length).toBeGreaterThan(8)
})

test('the signed report is what the documentation shows', async () => {
  const inputs = await world.inputs()
  const cpu = inputs.evidence.cpu as SoftwareEvidence
  const report = JSON.parse(new TextDecoder().decode(parseBase64(cpu.report)))
  expect(report).toMatchObject({ version: 1, debug: false, tcb: 1 })
  expect(report.measurement).toBe(formatHex(world.measurement))
})

test('no worker is verified under an expired manifest, nor beyond its expiry', async () => {
  const until = (expiresAt: string) => world.inputs({ draft: { expiresAt } })
  await refused(await until('2026-03-01T12:00:00Z'), 'manifest_expired')
  const worker = await verifyWorker(await until('2026-03-01T12:00:01Z'))
  expect(worker.validUntil).toEqual(new Date('2026-03-01T12:00:01Z'))
  const { expiresAt: _, ...draft } = world.draft
  const inputs = { ...(await world.inputs()), manifest: await parseManifest(formatManifest(draft)) }
  const { checks } = await verifyWorker(inputs)
  expect(checks.find(({ id }) => id === 'manifest/expiry')?.result).toBe('skipped')
})
