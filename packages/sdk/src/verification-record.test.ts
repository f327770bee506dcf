import { beforeAll, expect, test } from 'bun:test'
import { type AttestedWorker, type Manifest, parseEvidenceBundle } from '@privatemode/attestation'
import { softwareBundle } from '../../attestation/src/testing/software-bundle.ts'
import { noon, softwareWorld } from '../../attestation/src/testing/software-world.ts'
import type { WorkerProof } from './options.ts'
import type { Receipt } from './receipted-answer.ts'
import { VerificationRecord } from './verification-record.ts'

let proof: WorkerProof
let signed: Receipt['signed']

beforeAll(async () => {
  const { bundle, sign } = await softwareBundle(await softwareWorld())
  const manifest = { bytes: bundle.manifest } as Manifest
  proof = { ...bundle, manifest, logProof: bundle.logProof }
  signed = await sign()
})

const statementOf = (n: number) => n.toString(16).padStart(2, '0').repeat(32)
const worker = (n: number) =>
  ({
    workerId: `w_${n}`,
    statementDigest: new Uint8Array(32).fill(n),
    verifiedAt: new Date(noon.getTime() + n * 1000),
  }) as AttestedWorker

function recordOf(count: number): VerificationRecord {
  const record = new VerificationRecord(
    () => ({ manifest: undefined, workers: [], refused: [] }),
    () => noon,
  )
  for (let n = 0; n < count; n++) record.keep(worker(n), proof)
  return record
}

test('a bundle contains what the verification used, and when', () => {
  const { bytes, verifiedAt } = recordOf(3).bundle()
  expect(verifiedAt).toEqual(worker(2).verifiedAt)
  const bundle = parseEvidenceBundle(bytes)
  expect(bundle.nonce).toEqual(proof.nonce)
  expect(bundle.manifest).toEqual(proof.manifest.bytes)
  expect(bundle.logProof).toEqual(proof.logProof)
  expect(bundle.receipt).toBeUndefined()
})

test('a bundle is about one worker, or about the statement named by a receipt', () => {
  const record = recordOf(3)
  expect(record.bundle({ workerId: 'w_0' }).verifiedAt).toEqual(worker(0).verifiedAt)
  const receipt = { signed, statementDigest: statementOf(1) } as Receipt
  const about = record.bundle({ receipt })
  expect(about.verifiedAt).toEqual(worker(1).verifiedAt)
  expect(parseEvidenceBundle(about.bytes).receipt).toEqual(signed)
})

test('evidence is kept for the latest workers only; a bundle for any other is refused', () => {
  const record = recordOf(17)
  expect(() => record.bundle({ workerId: 'w_0' })).toThrow('no evidence is kept for that worker')
  expect(record.bundle({ workerId: 'w_1' }).verifiedAt).toEqual(worker(1).verifiedAt)
  expect(() => recordOf(0).bundle()).toThrow(expect.objectContaining({ code: 'invalid_options' }))
})
