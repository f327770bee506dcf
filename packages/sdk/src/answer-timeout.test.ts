import { beforeEach, expect, test } from 'bun:test'
import { encodeText } from '@privatemode/protocol/envelope'
import { rejection } from '../../../test/rejection.ts'
import { chatModel } from '../../attestation/src/testing/software-world.ts'
import { defaultTimeouts } from './options.ts'
import { FakeBackend } from './testing/fake-backend.ts'
import { testClient } from './testing/test-client.ts'

let backend: FakeBackend
beforeEach(async () => {
  backend = await FakeBackend.start('w_1')
})

/** The worker's answer, delivered by a gateway in any way it likes. */
async function ask(
  stream: boolean,
  give: (bytes: Uint8Array) => ReadableStream | Promise<never>,
  { silenceMs = 300, firstByteMs = 60_000 } = {},
) {
  const fetch: typeof backend.fetch = async (url, init) => {
    const response = await backend.fetch(url, init)
    if (!url.endsWith('/sealed')) return response
    return new Response(await give(await response.bytes()), response)
  }
  const timeouts = { ...defaultTimeouts, firstByteMs, silenceMs }
  const { client } = testClient(backend, { fetch, timeouts })
  const call = { path: '/v1/chat/completions', model: chatModel.id, apiKey: 'key' }
  const body = encodeText('a prompt')
  const answer = await client.exchange({ ...call, body, stream })
  return new TextDecoder().decode(await answer.whole())
}

let cancelled = 0
const cancel = () => void cancelled++

const stopsShort = (bytes: Uint8Array) =>
  new ReadableStream({
    start: (controller) => controller.enqueue(bytes.slice(0, bytes.length - 1)),
    cancel,
  })

const drips = (bytes: Uint8Array) => {
  let at = 0
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(5)
      controller.enqueue(bytes.slice(at, ++at))
    },
    cancel,
  })
}

test.each([true, false])(
  'an answer that stalls or trickles is aborted, and its connection closed (stream: %p)',
  async (stream) => {
    for (const give of [stopsShort, drips]) {
      cancelled = 0
      expect(await rejection(ask(stream, give))).toMatchObject({ code: 'timeout', retryable: true })
      expect(cancelled).toBe(1)
    }
  },
  240_000,
)

test('an answer that does not start is aborted', async () => {
  const never = () => new Promise<never>(() => {})
  expect(await rejection(ask(true, never, { firstByteMs: 2_000 }))).toMatchObject({
    code: 'timeout',
  })
}, 240_000)

test('a stream whose frames keep arriving outlasts the silence limit', async () => {
  const frames = (bytes: Uint8Array) => {
    const rest = cutFrames(bytes)
    return new ReadableStream({
      async pull(controller) {
        await Bun.sleep(1_400)
        const frame = rest.shift()
        if (frame === undefined) controller.close()
        else controller.enqueue(frame)
      },
    })
  }
  expect(await ask(true, frames, { silenceMs: 5_000 })).toContain('answer to a prompt')
}, 240_000)

/** The clear-text prelude, then frame by frame. */
function cutFrames(answer: Uint8Array): Uint8Array[] {
  const frames = [answer.slice(0, 52)]
  for (let at = 52; at < answer.length; ) {
    const end = at + 5 + new DataView(answer.buffer, answer.byteOffset + at).getUint32(0)
    frames.push(answer.slice(at, end))
    at = end
  }
  return frames
}
