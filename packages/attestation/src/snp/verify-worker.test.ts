/** A whole worker on SEV-SNP: binding, evidence, manifest and statement together. */
import { beforeAll, expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import { reportData } from '../binding.ts'
import { formatManifest, parseManifest } from '../manifest/manifest.ts'
import { formatStatement } from '../statement.ts'
import { type ReportRequest, type SnpWorld, snpWorld, testTcb } from '../testing/snp-world.ts'
import { type SoftwareWorld, softwareWorld } from '../testing/software-world.ts'
import { type VerifyWorkerInputs, verifyWorker } from '../verify-worker.ts'

let snp: SnpWorld
let software: SoftwareWorld
beforeAll(async () => {
  snp = await snpWorld('Genoa')
  software = await softwareWorld()
})

const rule = {
  kind: 'snp',
  measurements: ['ab'.repeat(48)],
  minimum_tcb: { Genoa: testTcb.Genoa },
  signers: ['vcek'],
  guest_policy: { allow: ['smt'], require: [] },
  platform: { allow: ['smt'], require: ['ecc'] },
}

async function inputs(
  changedRule: object = {},
  report: ReportRequest = {},
): Promise<VerifyWorkerInputs> {
  const { software: _, ...base } = await software.inputs()
  const statement = formatStatement(software.statement)
  const bound = await reportData({ nonce: base.nonce, statement, deviceReports: [] })
  const patches = [{ at: 0x50, bytes: bound }, ...(report.patches ?? [])]
  const accept = [{ ...rule, ...changedRule }]
  const draft = { ...software.draft, evidence: 'hardware' as const, roles: { worker: { accept } } }
  return {
    ...base,
    statement,
    evidence: { cpu: await snp.attest({ ...report, patches }), devices: [] },
    manifest: await parseManifest(formatManifest(draft)),
    roots: snp.context.roots,
  }
}

test('a worker on SEV-SNP that the manifest lists is attested as hardware', async () => {
  const worker = await verifyWorker(await inputs())
  expect(worker.hardware).toBe(true)
  const failed = worker.checks.filter(({ result }) => result === 'failed')
  expect(failed).toEqual([])
})

test('a report that is bound to another nonce is refused', async () => {
  const nonce = new Uint8Array(32).fill(1)
  const other = verifyWorker({ ...(await inputs()), nonce })
  expect(await rejection(other)).toMatchObject({ code: 'binding_mismatch' })
})

test('a guest that may be debugged, or that the manifest does not list, is refused', async () => {
  const debug = await inputs({}, { patches: [{ at: 0x0a, bytes: Uint8Array.of(0b1011) }] })
  expect(await rejection(verifyWorker(debug))).toMatchObject({ code: 'debug_enabled' })
  const unlisted = await inputs({ measurements: ['00'.repeat(48)] })
  expect(await rejection(verifyWorker(unlisted))).toMatchObject({ code: 'measurement_unknown' })
})
