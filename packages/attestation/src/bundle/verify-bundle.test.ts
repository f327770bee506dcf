import { beforeAll, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { concatBytes, utf8 } from '../bytes.ts'
import { openCheckpoint } from '../log/checkpoint.ts'
import { formatLogProof } from '../log/log-proof.ts'
import { publishEntry } from '../log/publish.ts'
import { TileTree } from '../log/tile-tree.ts'
import { parseReceipt } from '../receipt.ts'
import { vendorRoots } from '../roots.ts'
import { MemoryLog, newSigner } from '../testing/memory-log.ts'
import { digestHex, type SoftwareBundle, softwareBundle } from '../testing/software-bundle.ts'
import { chatModel, noon, type SoftwareWorld, softwareWorld } from '../testing/software-world.ts'
import type { AttestationErrorCode } from '../verdict.ts'
import { type Bundle, formatEvidenceBundle, parseEvidenceBundle } from './bundle.ts'
import { type VerifyBundleInputs, verifyBundle } from './verify-bundle.ts'

let world: SoftwareWorld
let good: SoftwareBundle

beforeAll(async () => {
  world = await softwareWorld()
  good = await softwareBundle(world)
})

const verify = (changes: Partial<Bundle> = {}, more: Partial<VerifyBundleInputs> = {}) =>
  verifyBundle(formatEvidenceBundle({ ...good.bundle, ...changes }), { ...good.inputs, ...more })
const refused = async (attempt: Promise<unknown>, code: AttestationErrorCode) => {
  const error = await attempt.then(
    () => expect.unreachable('was accepted'),
    (error) => error,
  )
  expect(error).toMatchObject({ name: 'AttestationError', code })
  expect(error.checks.at(-1)?.result).toBe('failed')
}

test('a bundle is verified, and its transcript lists every check', async () => {
  const verified = await verify()
  expect(verified.worker).toMatchObject({ workerId: 'w_test', hardware: false })
  expect(verified.receipt).toMatchObject({ model: chatModel.id, completionTokens: 5 })
  const ids = verified.checks.map(({ id }) => id)
  expect(ids).toContain('log/proof')
  expect(ids).toContain('software/measurement')
  expect(ids).toContain('receipt/signature')
  const skipped = verified.checks.filter(({ result }) => result === 'skipped').map(({ id }) => id)
  expect(skipped).toEqual(['receipt/manifest', 'receipt/request', 'receipt/response'])
})

test('a bundle round-trips', () => {
  expect(parseEvidenceBundle(formatEvidenceBundle(good.bundle))).toEqual(good.bundle)
})

test('a manifest without proof, or with the proof of another, is refused', async () => {
  await refused(verify({ logProof: undefined }), 'log_inclusion_invalid')
  const manifest = concatBytes(good.bundle.manifest, utf8(' '))
  await refused(verify({ manifest }), 'log_inclusion_invalid')
})

test('a manifest trusted by its digest needs no log, and no other manifest is accepted', async () => {
  const digest = `sha256:${await digestHex(good.bundle.manifest)}`
  const verified = await verify(
    { logProof: undefined },
    { manifestTrust: { kind: 'digest', digest } },
  )
  expect(verified.checks).toContainEqual(
    expect.objectContaining({ id: 'log/proof', result: 'skipped' }),
  )
  const other = { kind: 'digest', digest: `sha256:${'0'.repeat(64)}` } as const
  await refused(verify({}, { manifestTrust: other }), 'manifest_refused')
})

test('another nonce, another time and other roots are refused', async () => {
  await refused(verify({ nonce: new Uint8Array(32) }), 'binding_mismatch')
  const atNight = new Date('2026-03-03T00:00:00Z')
  await refused(verify({}, { at: atNight }), 'certificate_expired')
  await refused(verify({}, { roots: vendorRoots }), 'software_refused')
})

test('a manifest that its log has superseded, or last signed too long ago, is refused', async () => {
  const signer = await newSigner('log.example')
  const log = new MemoryLog()
  const trust = { logKey: signer.verifierKey, witnesses: [], quorum: 0 }
  const manifestTrust = { kind: 'log', trust, maxAgeHours: 1 } as const
  const publish = (entry: Uint8Array, at: Date) => publishEntry(log, signer, entry, { at })
  const proof = async (index: number) => {
    const checkpoint = log.files.get('checkpoint')!
    const { size } = await openCheckpoint(checkpoint, signer.key, { witnesses: [], quorum: 0 })
    const hashes = await new TileTree(log.read, size).inclusionProof(index)
    return formatLogProof({ index, hashes, checkpoint })
  }
  await publish(good.bundle.manifest, noon)
  const logProof = await proof(0)
  const verified = await verify({ logProof }, { manifestTrust })
  expect(verified.checks.map(({ id }) => id)).toContain('log/latest')
  const later = new Date(noon.getTime() + 3_600_000)
  await refused(verify({ logProof }, { manifestTrust, at: later }), 'log_stale')
  await publish(utf8('a newer manifest'), noon)
  await refused(verify({ logProof: await proof(0) }, { manifestTrust }), 'manifest_superseded')
})

test('software evidence in a bundle passes the same gates', async () => {
  const { software: _, ...without } = good.inputs
  await refused(verifyBundle(formatEvidenceBundle(good.bundle), without), 'software_refused')
})

test('a receipt by another key, worker, statement, model or manifest is refused', async () => {
  const stranger = generateKeyPairSync('ed25519').privateKey
  for (const forged of [
    await good.sign({}, {}, stranger),
    await good.sign({ worker_id: 'w_other' }),
    await good.sign({}, { statement_digest: '00'.repeat(32) }),
    await good.sign({ model: 'other' }),
    await good.sign({}, { manifest_digest: `sha256:${'0'.repeat(64)}` }),
    await good.sign({ extra: 1 }),
    await good.sign({ status: '200' }),
    { ...(await good.sign()), record: (await good.sign({ completion_tokens: 4 })).record },
    {
      ...(await good.sign()),
      rest: (await good.sign({}, { request_digest: '00'.repeat(32) })).rest,
    },
  ]) {
    await refused(verify({ receipt: forged }), 'receipt_invalid')
  }
  const named = await good.sign(
    {},
    { manifest_digest: `sha256:${await digestHex(good.bundle.manifest)}` },
  )
  expect((await verify({ receipt: named })).receipt).toBeDefined()
})

test('bodies, if provided, must match the receipt', async () => {
  const requestDigest = await digestHex(utf8('request'))
  const responseDigest = await digestHex(utf8('response'))
  const verified = await verify({}, { requestDigest, responseDigest })
  expect(verified.checks.at(-1)).toMatchObject({ id: 'receipt/response', result: 'passed' })
  await refused(verify({}, { requestDigest: responseDigest }), 'receipt_invalid')
  await refused(verify({}, { responseDigest: requestDigest }), 'receipt_invalid')
  await refused(verify({ receipt: undefined }, { requestDigest }), 'receipt_invalid')
})

test('a bundle without a receipt reports that, and never shows the receipt as passed', async () => {
  const verified = await verify({ receipt: undefined })
  expect(verified.receipt).toBeUndefined()
  expect(verified.checks.at(-1)).toMatchObject({ id: 'receipt/signature', result: 'skipped' })
})

test('anything that is not a bundle is refused', async () => {
  const document = JSON.parse(new TextDecoder().decode(formatEvidenceBundle(good.bundle)))
  for (const changed of [
    { ...document, version: 2 },
    { ...document, extra: 1 },
    { ...document, nonce: '00' },
    { ...document, made_at: 'noon' },
    { ...document, receipt: {} },
    { ...document, receipt: { ...document.receipt, extra: 1 } },
    [],
  ]) {
    await refused(verifyBundle(utf8(JSON.stringify(changed)), good.inputs), 'bundle_malformed')
  }
  const extra = utf8(JSON.stringify({ ...document.receipt, extra: 1 }))
  for (const bytes of [utf8('{}'), extra]) {
    expect(() => parseReceipt(bytes)).toThrow(expect.objectContaining({ code: 'receipt_invalid' }))
  }
  expect(parseReceipt(utf8(JSON.stringify(document.receipt)))).toEqual(good.bundle.receipt!)
})
