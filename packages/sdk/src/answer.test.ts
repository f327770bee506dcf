import { beforeEach, expect, test } from 'bun:test'
import { type Bytes, decodeText, encodeText } from '@privatemode/protocol/envelope'
import { chatModel } from '../../attestation/src/testing/software-world.ts'
import { Answer, type ByteSource, streamSource, wholeSource } from './answer.ts'
import { FakeBackend } from './testing/fake-backend.ts'
import { testClient } from './testing/test-client.ts'

let backend: FakeBackend
beforeEach(async () => {
  backend = await FakeBackend.start('w_1')
})

/** A sealed call, and the bytes that the worker answered it with. */
async function answered() {
  const { client } = testClient(backend)
  const call = { path: '/v1/chat/completions', model: chatModel.id, stream: true, apiKey: 'key' }
  const sealed = await client.prepare({ ...call, body: encodeText('a prompt') })
  const init = { method: 'POST', headers: sealed.headers, body: sealed.body }
  const response = await backend.fetch('https://gateway.example/privatemode/v1/sealed', init)
  const bytes = new Uint8Array(await response.arrayBuffer())
  return { opener: sealed.opener, bytes, id: sealed.requestId }
}

/** Gives `pieces` one by one, then ends, or breaks with `error`. */
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

test('an answer is the same however it is cut on its way', async () => {
  for (const cut of [single, (bytes: Bytes) => [bytes]]) {
    const { opener, bytes, id } = await answered()
    const answer = await Answer.start(id, opener, streamSource(pieces(cut(bytes))))
    expect(answer.head.status).toBe(200)
    expect(answer.receipt).toBeUndefined()
    expect(decodeText(await answer.whole())).toBe('answer to a prompt')
    expect(answer.workerId).toBe('w_1')
    expect(decodeText(answer.receipt!)).toBe('{}')
    expect(await answer.next()).toBeUndefined()
  }
})

test('data before a cut is given, and then the cut is an error, not an end', async () => {
  const { opener, bytes, id } = await answered()
  const cut = bytes.subarray(0, bytes.length - 1)
  const answer = await Answer.start(id, opener, wholeSource(cut))
  const [data] = (await answer.next())!
  expect(decodeText(data!)).toBe('answer to a prompt')
  await expect(answer.next()).rejects.toMatchObject({ code: 'worker_unreachable' })
  expect(answer.receipt).toBeUndefined()
})

test('a connection that breaks is a worker out of reach', async () => {
  const { opener, bytes, id } = await answered()
  const broken = pieces([bytes.subarray(0, bytes.length - 1)], new Error('reset'))
  const answer = await Answer.start(id, opener, streamSource(broken))
  await expect(answer.whole()).rejects.toMatchObject({
    code: 'worker_unreachable',
    message: expect.stringContaining('broke'),
  })
})

test('nothing at all is a worker out of reach', async () => {
  for (const source of [
    streamSource(null),
    streamSource(pieces([])),
    wholeSource(new Uint8Array()),
  ]) {
    const { opener, id } = await answered()
    const starting = Answer.start(id, opener, source)
    await expect(starting).rejects.toMatchObject({ code: 'worker_unreachable' })
  }
})

test('frames that were swapped, repeated or left out are not authentic', async () => {
  const { opener, bytes, id } = await answered()
  const twice = new Uint8Array([...bytes.subarray(0, bytes.length - 40), ...bytes])
  const reading = Answer.start(id, opener, wholeSource(twice)).then((answer) => answer.whole())
  await expect(reading).rejects.toMatchObject({ code: 'response_not_authentic' })
})

test('an answer to another request is not authentic', async () => {
  const [mine, other] = [await answered(), await answered()]
  const starting = Answer.start(mine.id, mine.opener, wholeSource(other.bytes))
  await expect(starting).rejects.toMatchObject({ code: 'response_not_authentic' })
})

test('a reader that goes away closes the connection', async () => {
  const { opener, bytes, id } = await answered()
  let cancelled = 0
  const source: ByteSource = {
    ...wholeSource(bytes),
    cancel: async () => {
      cancelled += 1
    },
  }
  const answer = await Answer.start(id, opener, source)
  await answer.cancel()
  expect(cancelled).toBe(1)
})
