import { beforeAll, expect, test } from 'bun:test'
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { concatBytes, formatHex, utf8 } from '../bytes.ts'
import { sha256 } from '../digest.ts'
import { publishEntry } from '../log/publish.ts'
import { verifyLatest } from '../log/verify-latest.ts'
import { parseReceipt } from '../receipt.ts'
import { vendorRoots } from '../roots.ts'
import { softwareVerifier } from '../software/verifier.ts'
import { MemoryLog, newSigner } from '../testing/memory-log.ts'
import { chatModel, noon, type SoftwareWorld, softwareWorld } from '../testing/software-world.ts'
import type { AttestationErrorCode } from '../verdict.ts'
import { type Bundle, formatEvidenceBundle, parseEvidenceBundle } from './bundle.ts'
import { type VerifyBundleInputs, verifyBundle } from './verify-bundle.ts'

let world: SoftwareWorld
let receiptKey: KeyObject
let bundle: Bundle
let inputs: VerifyBundleInputs

const digestHex = async (bytes: Uint8Array) => formatHex(await sha256(bytes))

const record = {
  version: 1,
  request_id: 'ab'.repeat(16),
  worker_id: 'w_test',
  key_ref: 'k_1',
  model: chatModel.id,
  path: '/v1/chat/completions',
  status: 200,
  outcome: 'complete',
  prompt_tokens: 10,
  cached_tokens: 0,
  completion_tokens: 5,
  started_at: noon.getTime(),
  duration_ms: 100,
}

async function receipt(changes: object = {}, restChanges: object = {}, key = receiptKey) {
  const rest = {
    request_digest: await digestHex(utf8('request')),
    response_digest: await digestHex(utf8('response')),
    statement_digest: await digestHex(bundle.statement),
    salt: Buffer.alloc(32).toString('base64'),
    ...restChanges,
  }
  const recordBytes = utf8(JSON.stringify({ ...record, ...changes }))
  const restBytes = utf8(JSON.stringify(rest))
  const message = concatBytes(
    utf8('privatemode/v1/receipt\0'),
    await sha256(recordBytes),
    await sha256(restBytes),
  )
  const signature = new Uint8Array(sign(null, message, key))
  return { record: recordBytes, rest: restBytes, signature }
}

beforeAll(async () => {
  world = await softwareWorld()
  const pair = generateKeyPairSync('ed25519')
  receiptKey = pair.privateKey
  const raw = new Uint8Array(pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32))
  const good = await world.inputs({ statement: { receiptKey: raw } })
  const signer = await newSigner('log.example')
  const log = new MemoryLog()
  for (const entry of [utf8('an older manifest'), good.manifest.bytes]) {
    await publishEntry(log, signer, entry)
  }
  const trust = { logKey: signer.verifierKey, witnesses: [], quorum: 0 }
  const latest = await verifyLatest({ ...trust, read: log.read, remembered: undefined })
  bundle = {
    madeAt: noon,
    nonce: world.nonce,
    statement: new Uint8Array(good.statement),
    evidence: good.evidence,
    manifest: good.manifest.bytes,
    logProof: latest.proof,
    receipt: undefined,
  }
  bundle = { ...bundle, receipt: await receipt() }
  inputs = {
    manifestTrust: { kind: 'log', trust },
    roots: world.roots,
    revocation: { allowUnknown: false, revokedGraceHours: 0 },
    at: noon,
    software: softwareVerifier,
  }
})

const verify = (changes: Partial<Bundle> = {}, more: Partial<VerifyBundleInputs> = {}) =>
  verifyBundle(formatEvidenceBundle({ ...bundle, ...changes }), { ...inputs, ...more })
const refused = async (attempt: Promise<unknown>, code: AttestationErrorCode) => {
  const error = await attempt.then(
    () => expect.unreachable('was accepted'),
    (error) => error,
  )
  expect(error).toMatchObject({ name: 'AttestationError', code })
  expect(error.checks.at(-1)?.result).toBe('failed')
}

test('a good bundle is verified, and its transcript lists every check', async () => {
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

test('a bundle is read as it was written', () => {
  expect(parseEvidenceBundle(formatEvidenceBundle(bundle))).toEqual(bundle)
})

test('a manifest without proof, or with the proof of another, is refused', async () => {
  await refused(verify({ logProof: undefined }), 'log_inclusion_invalid')
  const manifest = concatBytes(bundle.manifest, utf8(' '))
  await refused(verify({ manifest }), 'log_inclusion_invalid')
})

test('a manifest that is named by its digest needs no log, and no other will do', async () => {
  const digest = `sha256:${await digestHex(bundle.manifest)}`
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
  await refused(verify({}, { at: new Date('2027-01-01T00:00:00Z') }), 'certificate_expired')
  await refused(verify({}, { roots: vendorRoots }), 'software_refused')
})

test('software evidence in a bundle passes the same gates', async () => {
  const { software: _, ...without } = inputs
  await refused(verifyBundle(formatEvidenceBundle(bundle), without), 'software_refused')
})

test('a receipt by another key, worker, statement, model or manifest is refused', async () => {
  const stranger = generateKeyPairSync('ed25519').privateKey
  for (const forged of [
    await receipt({}, {}, stranger),
    await receipt({ worker_id: 'w_other' }),
    await receipt({}, { statement_digest: '00'.repeat(32) }),
    await receipt({ model: 'other' }),
    await receipt({}, { manifest_digest: `sha256:${'0'.repeat(64)}` }),
    await receipt({ extra: 1 }),
    await receipt({ status: '200' }),
    { ...(await receipt()), record: (await receipt({ completion_tokens: 4 })).record },
    { ...(await receipt()), rest: (await receipt({}, { request_digest: '00'.repeat(32) })).rest },
  ]) {
    await refused(verify({ receipt: forged }), 'receipt_invalid')
  }
  const named = await receipt({}, { manifest_digest: `sha256:${await digestHex(bundle.manifest)}` })
  expect((await verify({ receipt: named })).receipt).toBeDefined()
})

test('bodies that are at hand must be those of the receipt', async () => {
  const requestDigest = await digestHex(utf8('request'))
  const responseDigest = await digestHex(utf8('response'))
  const verified = await verify({}, { requestDigest, responseDigest })
  expect(verified.checks.at(-1)).toMatchObject({ id: 'receipt/response', result: 'passed' })
  await refused(verify({}, { requestDigest: responseDigest }), 'receipt_invalid')
  await refused(verify({}, { responseDigest: requestDigest }), 'receipt_invalid')
  await refused(verify({ receipt: undefined }, { requestDigest }), 'receipt_invalid')
})

test('a bundle without a receipt says so, and never shows one as passed', async () => {
  const verified = await verify({ receipt: undefined })
  expect(verified.receipt).toBeUndefined()
  expect(verified.checks.at(-1)).toMatchObject({ id: 'receipt/signature', result: 'skipped' })
})

test('what is not a bundle is refused', async () => {
  const document = JSON.parse(new TextDecoder().decode(formatEvidenceBundle(bundle)))
  for (const changed of [
    { ...document, version: 2 },
    { ...document, extra: 1 },
    { ...document, nonce: '00' },
    { ...document, made_at: 'noon' },
    { ...document, receipt: {} },
    [],
  ]) {
    await refused(verifyBundle(utf8(JSON.stringify(changed)), inputs), 'bundle_malformed')
  }
  expect(() => parseReceipt(utf8('{}'))).toThrow(
    expect.objectContaining({ code: 'receipt_invalid' }),
  )
})
