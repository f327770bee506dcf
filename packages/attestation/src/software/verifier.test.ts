import { beforeAll, expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import { appraiseEvidence } from '../appraise-worker.ts'
import type { AuthenticEvidence, DeviceClaims } from '../authenticate-worker.ts'
import { formatBase64, parseBase64, utf8 } from '../bytes.ts'
import type { SoftwareEvidence } from '../evidence.ts'
import type { NvidiaGpuClaims } from '../nvidia/claims.ts'
import { noon, type SoftwareWorld, softwareWorld } from '../testing/software-world.ts'
import { Transcript } from '../verdict.ts'
import { softwareVerifier } from './verifier.ts'

let world: SoftwareWorld
let evidence: SoftwareEvidence
beforeAll(async () => {
  world = await softwareWorld()
  evidence = (await world.attest(utf8('statement'))).cpu as SoftwareEvidence
})

const revocation = { allowUnknown: false, revokedGraceHours: 0 }
const authenticate = (changed: Partial<SoftwareEvidence>) =>
  softwareVerifier.authenticate(
    { ...evidence, ...changed },
    { roots: world.roots, revocation, at: noon },
    new Transcript(),
  )
/** Evidence over a report of any form, correctly signed. */
const signed = async (report: object) => {
  const bytes = utf8(JSON.stringify(report))
  const ecdsa = { name: 'ECDSA', hash: 'SHA-384' }
  const signature = await crypto.subtle.sign(ecdsa, world.leaf.privateKey, bytes)
  return { report: formatBase64(bytes), signature: formatBase64(new Uint8Array(signature)) }
}
const report = () => JSON.parse(new TextDecoder().decode(parseBase64(evidence.report)))

test('a report signed by a leaf is parsed as signed', async () => {
  const claims = await authenticate(await signed(report()))
  expect(claims).toMatchObject({ debug: false, tcb: 1, root: world.fingerprint })
})

test('a signed report of another form is refused', async () => {
  for (const changed of [
    { ...report(), version: 2 },
    { ...report(), extra: 1 },
    { ...report(), measurement: '00' },
    { ...report(), report_data: '00' },
    { ...report(), debug: 0 },
    { ...report(), tcb: -1 },
    [],
  ]) {
    const outcome = authenticate(await signed(changed))
    expect(await rejection(outcome)).toMatchObject({ code: 'evidence_malformed' })
  }
})

test('parts that are not base64 are refused', async () => {
  for (const changed of [{ report: '?' }, { signature: '?' }, { certificates: ['?'] }]) {
    expect(await rejection(authenticate(changed))).toMatchObject({ code: 'evidence_malformed' })
  }
})

test('a software machine cannot vouch for its devices', async () => {
  const { manifest } = await world.inputs()
  const claims = await authenticate({})
  const gpu: DeviceClaims = { kind: 'nvidia-gpu', claims: {} as NvidiaGpuClaims }
  const appraise = (devices: DeviceClaims[]) => {
    const authentic: AuthenticEvidence = { cpu: { kind: 'software', claims }, devices }
    appraiseEvidence(
      authentic,
      manifest.roles.worker,
      { software: softwareVerifier },
      new Transcript(),
    )
  }
  expect(() => appraise([])).not.toThrow()
  expect(() => appraise([gpu])).toThrow(expect.objectContaining({ code: 'policy_refused' }))
})

test('a role without any rule accepts nothing', async () => {
  const claims = await authenticate({})
  const authentic: AuthenticEvidence = { cpu: { kind: 'software', claims }, devices: [] }
  const appraise = () =>
    appraiseEvidence(authentic, { accept: [] }, { software: softwareVerifier }, new Transcript())
  expect(appraise).toThrow(expect.objectContaining({ code: 'manifest_refused' }))
})
