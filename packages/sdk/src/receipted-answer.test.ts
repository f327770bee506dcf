import { beforeAll, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { type AttestedWorker, type SignedReceipt, verifyWorker } from '@privatemode/attestation'
import type { Bytes } from '@privatemode/protocol/envelope'
import { rejection, thrown } from '../../../test/rejection.ts'
import {
  digestHex,
  type SoftwareBundle,
  softwareBundle,
} from '../../attestation/src/testing/software-bundle.ts'
import { chatModel, noon, softwareWorld } from '../../attestation/src/testing/software-world.ts'
import type { Answer } from './answer.ts'
import { ReceiptedAnswer } from './receipted-answer.ts'

const text = (value: string): Bytes => new TextEncoder().encode(value)
const call = { path: '/v1/chat/completions', body: text('request') }
const good = { request_id: 'ab'.repeat(16) }
let bundle: SoftwareBundle
let worker: AttestedWorker
let rest: object

beforeAll(async () => {
  const world = await softwareWorld()
  bundle = await softwareBundle(world)
  const { nonce, statement, evidence } = bundle.bundle
  const { manifest, roots, revocation, software } = await world.inputs()
  const at = noon
  if (software === undefined) throw new Error('the test world has no verifier')
  worker = await verifyWorker({
    nonce,
    statement,
    evidence,
    manifest,
    roots,
    revocation,
    at,
    software,
  })
  rest = { manifest_digest: worker.manifestDigest }
})

/** An answer of two chunks, "resp" and "onse", with this receipt at its end. */
function answerWith(receipt: SignedReceipt | undefined, over: object = {}, model = chatModel.id) {
  const pieces = [[text('resp')], [text('onse')]]
  const answer = {
    requestId: good.request_id,
    model,
    head: { status: 200, headers: {} },
    worker,
    receipt: receipt === undefined ? undefined : formatted(receipt),
    next: async () => pieces.shift(),
    whole: async () => text('response'),
    cancel: async () => {},
    settled: async () => {},
    ...over,
  }
  return new ReceiptedAnswer(answer as unknown as Answer, call)
}

function formatted({ record, rest, signature }: SignedReceipt): Bytes {
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
  const wire = { record: base64(record), rest: base64(rest), signature: base64(signature) }
  return text(JSON.stringify(wire))
}

const readAll = async (answer: ReceiptedAnswer) => {
  for (let data = await answer.next(); data !== undefined; data = await answer.next());
}

test('a receipt that matches the exchange is verified, streamed or not', async () => {
  const streamed = answerWith(await bundle.sign(good, rest))
  await readAll(streamed)
  expect(await streamed.receipt()).toMatchObject({ outcome: 'complete', promptTokens: 10 })
  const whole = answerWith(await bundle.sign(good, rest))
  await whole.whole()
  expect((await whole.receipt()).checks.every(({ result }) => result === 'passed')).toBe(true)
  expect(whole.receipt()).toBe(whole.receipt())
})

test.each([
  ['another request', { request_id: 'cd'.repeat(16) }, {}, 'receipt/exchange-requestId'],
  ['another path', { path: '/v1/embeddings' }, {}, 'receipt/exchange-path'],
  ['another status', { status: 500 }, {}, 'receipt/exchange-status'],
  [
    'another request body',
    {},
    { request_digest: '00'.repeat(32) },
    'receipt/exchange-requestDigest',
  ],
  ['another answer', {}, { response_digest: '00'.repeat(32) }, 'receipt/exchange-responseDigest'],
  ['no manifest', {}, { manifest_digest: undefined }, 'receipt/exchange-manifestDigest'],
] as const)('a receipt for %s is refused', async (_, record, changes, id) => {
  const answer = answerWith(await bundle.sign({ ...good, ...record }, { ...rest, ...changes }))
  await readAll(answer)
  const failure = await answer.receipt().catch((error) => error)
  expect(failure).toMatchObject({ code: 'receipt_invalid', retryable: false })
  expect(failure.checks.at(-1)).toMatchObject({ id, result: 'failed' })
})

test('a receipt for another model of the same worker is refused', async () => {
  const both = { ...worker, models: [chatModel, { ...chatModel, id: 'other' }] }
  const answer = answerWith(await bundle.sign(good, rest), { worker: both }, 'other')
  await readAll(answer)
  const failure = await answer.receipt().catch((error) => error)
  expect(failure.checks.at(-1)).toMatchObject({ id: 'receipt/exchange-model', result: 'failed' })
})

test('a receipt signed by another key is refused', async () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const answer = answerWith(await bundle.sign(good, rest, privateKey))
  await readAll(answer)
  expect(await rejection(answer.receipt())).toMatchObject({ code: 'receipt_invalid' })
})

test('an answer that ends early, is cancelled or carries no receipt has none', async () => {
  const cut = answerWith(await bundle.sign(good, rest), {
    next: () => Promise.reject(new Error('cut')),
    whole: () => Promise.reject(new Error('cut')),
  })
  expect(await thrown(cut.next())).toThrow('cut')
  expect(await rejection(cut.receipt())).toMatchObject({ code: 'receipt_missing' })
  const cutWhole = answerWith(undefined, { whole: () => Promise.reject(new Error('cut')) })
  expect(await thrown(cutWhole.whole())).toThrow('cut')
  expect(await rejection(cutWhole.receipt())).toMatchObject({ code: 'receipt_missing' })
  const cancelled = answerWith(await bundle.sign(good, rest))
  await cancelled.cancel()
  expect(await rejection(cancelled.receipt())).toMatchObject({ code: 'receipt_missing' })
  const without = answerWith(undefined)
  await readAll(without)
  expect(await rejection(without.receipt())).toMatchObject({ code: 'receipt_missing' })
})

test('the digests of the exchange are those of its exact bytes', async () => {
  const answer = answerWith(await bundle.sign(good, rest))
  await readAll(answer)
  const { requestDigest, responseDigest } = await answer.receipt()
  expect(requestDigest).toBe(await digestHex(text('request')))
  expect(responseDigest).toBe(await digestHex(text('response')))
})

test('bodies too long to be kept are hashed immediately', async () => {
  const long: Bytes = new Uint8Array(100_000).fill(0x61)
  const digest = await digestHex(long)
  const digests = { ...rest, request_digest: digest, response_digest: digest }
  const body = long.slice()
  const answer = new ReceiptedAnswer(
    {
      requestId: good.request_id,
      model: chatModel.id,
      head: { status: 200, headers: {} },
      worker,
      receipt: formatted(await bundle.sign(good, digests)),
      whole: async () => body,
      settled: async () => {},
    } as unknown as Answer,
    { ...call, body },
  )
  await answer.whole()
  body.fill(0) // the owner of the buffer may reuse it
  expect(await answer.receipt()).toMatchObject({ requestDigest: digest, responseDigest: digest })
})
