import { beforeEach, expect, test } from 'bun:test'
import {
  AnswerOpener,
  type AnswerPart,
  AnswerSealer,
  type Bytes,
  dataRecord,
  decodeText,
  encodeText,
  endRecord,
  finishRequest,
  headRecord,
  joinBytes,
  webCryptoProvider,
  wholeRecord,
} from '@privatemode/protocol/envelope'
import { rejection } from '../../../test/rejection.ts'
import { chatModel } from '../../attestation/src/testing/software-world.ts'
import { Answer } from './answer.ts'
import { type ByteSource, streamSource, wholeSource } from './byte-source.ts'
import { FakeBackend } from './testing/fake-backend.ts'
import { testClient } from './testing/test-client.ts'

let backend: FakeBackend
beforeEach(async () => {
  backend = await FakeBackend.start('w_1')
})

/** A sealed call, and the bytes with which the worker answered it. */
async function answered() {
  const { client } = testClient(backend)
  const call = { path: '/v1/chat/completions', model: chatModel.id, stream: true, apiKey: 'key' }
  const sealed = await client.prepare({ ...call, body: encodeText('a prompt') })
  const body = await finishRequest(sealed.request)
  const init = { method: 'POST', headers: sealed.headers, body }
  const response = await backend.fetch('https://gateway.example/privatemode/v1/sealed', init)
  const bytes = new Uint8Array(await response.arrayBuffer())
  const { opener } = sealed.request
  return { facts: { ...sealed, opener, maxBytes: 1000 }, bytes }
}

/** Yields `pieces` one by one, then ends, or fails with `error`. */
function pieces(list: readonly Bytes[], error?: Error) {
  const rest = [...list]
  return new ReadableStream<Bytes>({
    pull(controller) {
      const next = rest.shift()
      if (next !== undefined) controller.enqueue(next)
      else if (error === undefined) controller.close()
      else controller.error(error)
    },
  })
}

const single = (bytes: Bytes) => Array.from(bytes, (byte) => Uint8Array.of(byte))

test('an answer is the same however it is chunked in transit', async () => {
  for (const cut of [single, (bytes: Bytes) => [bytes]]) {
    const { facts, bytes } = await answered()
    const answer = await Answer.start(facts, streamSource(pieces(cut(bytes))))
    expect(answer.head.status).toBe(200)
    expect(answer.receipt).toBeUndefined()
    expect(decodeText(await answer.whole())).toBe('answer to a prompt')
    expect(answer.workerId).toBe('w_1')
    expect(decodeText(answer.receipt!)).toBe('{}')
    expect(await answer.next()).toBeUndefined()
  }
})

test('data before a truncation is delivered; the truncation is then an error, not an end', async () => {
  const { facts, bytes } = await answered()
  const cut = bytes.subarray(0, bytes.length - 1)
  const answer = await Answer.start(facts, wholeSource(cut))
  const [data] = (await answer.next())!
  expect(decodeText(data!)).toBe('answer to a prompt')
  expect(await rejection(answer.next())).toMatchObject({ code: 'worker_unreachable' })
  expect(answer.receipt).toBeUndefined()
})

test('a broken connection is reported as worker_unreachable', async () => {
  const { facts, bytes } = await answered()
  const broken = pieces([bytes.subarray(0, bytes.length - 1)], new Error('reset'))
  const answer = await Answer.start(facts, streamSource(broken))
  expect(await rejection(answer.whole())).toMatchObject({
    code: 'worker_unreachable',
    message: expect.stringContaining('broke'),
  })
})

test('an empty response is reported as worker_unreachable', async () => {
  for (const source of [
    streamSource(null),
    streamSource(pieces([])),
    wholeSource(new Uint8Array()),
  ]) {
    const { facts } = await answered()
    const starting = Answer.start(facts, source)
    expect(await rejection(starting)).toMatchObject({ code: 'worker_unreachable' })
  }
})

test('swapped, repeated or missing frames are not authentic', async () => {
  const { facts, bytes } = await answered()
  const twice = new Uint8Array([...bytes.subarray(0, bytes.length - 40), ...bytes])
  const reading = Answer.start(facts, wholeSource(twice)).then((answer) => answer.whole())
  expect(await rejection(reading)).toMatchObject({ code: 'response_not_authentic' })
})

test('an answer to another request is not authentic', async () => {
  const [mine, other] = [await answered(), await answered()]
  const starting = Answer.start(mine.facts, wholeSource(other.bytes))
  expect(await rejection(starting)).toMatchObject({ code: 'response_not_authentic' })
})

test('a reader that leaves closes the connection', async () => {
  const { facts, bytes } = await answered()
  let cancelled = 0
  const source: ByteSource = {
    ...wholeSource(bytes),
    cancel: async () => {
      cancelled += 1
    },
  }
  const answer = await Answer.start(facts, source)
  await answer.cancel()
  expect(cancelled).toBe(1)
})

test('reading stops at a forged answer', async () => {
  const { facts, bytes } = await answered()
  let cancelled = 0
  const endless = new ReadableStream<Bytes>({
    pull: (controller) => controller.enqueue(bytes.with(bytes.length - 1, 0) as Bytes),
    cancel: () => void cancelled++,
  })
  const reading = Answer.start(facts, streamSource(endless)).then((answer) => answer.whole())
  expect(await rejection(reading)).toMatchObject({ code: 'response_not_authentic' })
  expect(cancelled).toBe(1)
})

test('an answer is buffered up to its limit and no further', async () => {
  const length = 'answer to a prompt'.length
  for (const [maxBytes, code] of [
    [length, undefined],
    [length - 1, 'answer_too_large'],
  ] as const) {
    const { facts, bytes } = await answered()
    const answer = await Answer.start({ ...facts, maxBytes }, wholeSource(bytes))
    const outcome = await answer.whole().catch((error) => error)
    expect(outcome.code).toBe(code)
  }
})

test('a long answer is opened a megabyte at a time, so it does not stall the program', async () => {
  const source = wholeSource(new Uint8Array(2_500_000))
  const lengths: number[] = []
  for (let part = await source.read(); part !== undefined; part = await source.read()) {
    lengths.push(part.length)
  }
  expect(lengths).toEqual([1_048_576, 1_048_576, 402_848])
  const empty = wholeSource(new Uint8Array())
  expect([await empty.read(), await empty.read()]).toEqual([new Uint8Array(), undefined])
})

test('an abort keeps its own reason and is not reported as a lost connection', async () => {
  const { facts, bytes } = await answered()
  const reason = new DOMException('stopped', 'AbortError')
  const broken = pieces([bytes.subarray(0, bytes.length - 1)], reason)
  const answer = await Answer.start(facts, streamSource(broken, AbortSignal.abort(reason)))
  expect(await rejection(answer.whole())).toBe(reason)
})

/** An answer whose first frame marks the body as complete; padding and the end follow. */
async function markedEarly() {
  const [key, digest, sealKeyId] = [32, 32, 16].map((length) => new Uint8Array(length))
  const sealer = await AnswerSealer.start(webCryptoProvider, key!, digest!, sealKeyId!)
  const head = headRecord({ status: 200, headers: {} })
  const body = [...head, ...dataRecord(encodeText('all of it')), ...wholeRecord()]
  const first = joinBytes([sealer.prelude, await sealer.seal(body, false, 256)])
  const padding = await sealer.seal([], false, 256)
  const last = await sealer.seal(endRecord(encodeText('{}')), true, 256)
  const workers = [{ workerId: 'w', sealKeyId: sealKeyId! }]
  const opener = new AnswerOpener(webCryptoProvider, key!, digest!, workers)
  const facts = { requestId: 'id', model: 'm', opener, workers: [], maxBytes: 1000 }
  return { facts, first, padding, last }
}

/** Yields the first piece immediately, and the others once released. */
function heldBack(first: Bytes, rest: readonly Bytes[]) {
  const released = Promise.withResolvers<void>()
  const list = [first, ...rest]
  let [given, cancelled] = [0, 0]
  const source: ByteSource = {
    async read() {
      if (given > 0) await released.promise
      return list[given++]
    },
    cancel: async () => void cancelled++,
  }
  return { source, release: released.resolve, cancelled: () => cancelled }
}

test('a complete body is delivered without waiting for padding; the receipt follows later', async () => {
  const { facts, first, padding, last } = await markedEarly()
  const { source, release, cancelled } = heldBack(first, [padding, last])
  const answer = await Answer.start(facts, source)
  expect(decodeText(await answer.whole())).toBe('all of it')
  expect(answer.receipt).toBeUndefined()
  release()
  await answer.settled()
  expect(decodeText(answer.receipt!)).toBe('{}')
  expect(cancelled()).toBe(0)
})

test('a reader that leaves after a complete body does not close the connection, which an observer would see', async () => {
  const { facts, first, padding, last } = await markedEarly()
  const { source, release, cancelled } = heldBack(first, [padding, last])
  const answer = await Answer.start(facts, source)
  await answer.next()
  await answer.cancel()
  release()
  await answer.settled()
  expect(cancelled()).toBe(0)
  expect(answer.receipt).toBeDefined()
})

test('truncation or tampering after a complete body loses only the receipt', async () => {
  for (const rest of [[], ['padding'], ['last']] as const) {
    const sealed = await markedEarly()
    const { source, release } = heldBack(
      sealed.first,
      rest.map((name) => sealed[name]),
    )
    const answer = await Answer.start(sealed.facts, source)
    expect(decodeText(await answer.whole())).toBe('all of it')
    release()
    await answer.settled()
    expect(answer.receipt).toBeUndefined()
  }
})

test('padding that never ends is read up to a limit only', async () => {
  const { facts } = await answered()
  const head = { status: 200, headers: {} }
  const begun: AnswerPart[] = [{ kind: 'head', head }, { kind: 'whole' }]
  // Stands in for one that finds every frame authentic, for speed.
  const opener = { push: () => begun.splice(0), finish: () => {} } as unknown as AnswerOpener
  const megabyte = new Uint8Array(1024 * 1024)
  let read = 0
  let isStopped = false
  const source: ByteSource = {
    read: async () => (++read > 100 ? undefined : megabyte),
    cancel: async () => {
      isStopped = true
    },
  }
  const answer = await Answer.start({ ...facts, opener }, source)
  expect(await answer.next()).toBeUndefined()
  await answer.settled()
  expect(isStopped).toBe(true)
  expect(read).toBe(66) // one with the answer, 64 of padding, one too many
})
