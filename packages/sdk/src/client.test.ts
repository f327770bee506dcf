import { beforeEach, describe, expect, test } from 'bun:test'
import { ApiError } from '@privatemode/protocol/api'
import { decodeText, encodeText } from '@privatemode/protocol/envelope'
import { sealedMediaType } from '@privatemode/protocol/fleet'
import { rejection } from '../../../test/rejection.ts'
import { chatModel } from '../../attestation/src/testing/software-world.ts'
import type { PrivateClient } from './client.ts'
import { privateFetch } from './private-fetch.ts'
import type { Call } from './sealed-exchange.ts'
import { FakeBackend, type FakeWorker, relayError } from './testing/fake-backend.ts'
import { testClient } from './testing/test-client.ts'

let backend: FakeBackend
let worker: FakeWorker

beforeEach(async () => {
  backend = await FakeBackend.start('w_1')
  worker = backend.workers.get('w_1')!
})

const call = (change: Partial<Call> = {}): Call => ({
  path: '/v1/chat/completions',
  model: chatModel.id,
  body: encodeText('a prompt'),
  stream: false,
  apiKey: 'key-a',
  ...change,
})

const ask = async (client: PrivateClient, change: Partial<Call> = {}) =>
  decodeText(await (await client.exchange(call(change))).whole())

describe('a call', () => {
  test.each([false, true])('is sealed, answered and opened (stream: %p)', async (stream) => {
    const { client } = testClient(backend)
    expect(await ask(client, { stream })).toBe('answer to a prompt')
  })

  test('to a worker with a new key is resealed immediately, without the caller noticing', async () => {
    const { client } = testClient(backend)
    await ask(client)
    await backend.rotate(worker)
    expect(await ask(client)).toBe('answer to a prompt')
    expect(backend.sealed.length).toBe(3)
    expect(backend.attestations.length).toBe(2)
  })

  test('many calls to a worker with a new key share one reverification', async () => {
    const { client } = testClient(backend)
    await ask(client)
    await backend.rotate(worker)
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(client)))
    expect(new Set(answers)).toEqual(new Set(['answer to a prompt']))
    expect(backend.attestations.length).toBeLessThanOrEqual(3)
  })

  test('that a worker did not accept goes to others, as do later calls for a while', async () => {
    for (const id of ['w_2', 'w_3', 'w_4']) await backend.addWorker(id)
    const away = new Set<string>()
    const asked: string[][] = []
    const fetch = async (url: string, init: RequestInit) => {
      const named = new Headers(init.headers).get('privatemode-workers')?.split(',') ?? []
      if (!url.endsWith('/sealed')) return backend.fetch(url, init)
      asked.push(named)
      if (away.size === 0) for (const id of named) away.add(id)
      if (!named.some((id) => away.has(id))) return backend.fetch(url, init)
      return relayError(new ApiError('worker_unreachable', 'connection refused'))
    }
    const { client } = testClient(backend, { fetch })
    await client.ready('key-a')
    for (let calls = 0; calls < 20; calls++) {
      expect(await ask(client, { cacheSalt: `salt ${calls}` })).toBe('answer to a prompt')
    }
    expect(asked.length).toBe(21)
    backend.advance(2_000)
    away.clear()
    away.add('nobody')
    for (let calls = 0; calls < 40; calls++) await ask(client, { cacheSalt: `salt ${calls}` })
    expect(new Set(asked.slice(21).flat())).toEqual(new Set(['w_1', 'w_2', 'w_3', 'w_4']))
  })

  test('to a backend that never knows the key fails after a few attempts', async () => {
    const { client } = testClient(backend)
    await ask(client)
    worker.keys = worker.keys.map((one) => ({ ...one, digest: new Uint8Array(32) }))
    expect(await rejection(ask(client))).toMatchObject({ code: 'unknown_key' })
    expect(backend.sealed.length).toBe(1 + 4)
  })

  test('that the gateway sent to one worker twice is retried under another id', async () => {
    const ids: (string | null)[] = []
    const fetch: typeof backend.fetch = async (url, init) => {
      const id = new Headers(init.headers).get('privatemode-request-id')
      if (id !== null) ids.push(id)
      return ids.length === 1 && id !== null
        ? relayError(new ApiError('replayed', 'seen before'))
        : await backend.fetch(url, init)
    }
    const { client } = testClient(backend, { fetch })
    expect(await ask(client)).toBe('answer to a prompt')
    expect(new Set(ids).size).toBe(2)
  })

  test('made after its session has expired waits for a new one', async () => {
    const { client } = testClient(backend)
    await ask(client)
    backend.advance(56 * 60_000)
    expect(await ask(client)).toBe('answer to a prompt')
    expect(backend.attestations.length).toBe(2)
  })

  test('with another API key gets its own session, based on the same verification', async () => {
    const { client } = testClient(backend)
    await ask(client, { apiKey: 'key-a' })
    await ask(client, { apiKey: 'key-b' })
    expect(backend.sealed.map(({ apiKey }) => apiKey)).toEqual(['key-a', 'key-b'])
    expect(backend.attestations.length).toBe(1)
  })

  test('by a name without a tag is sealed for the tag latest, unless that name is listed', async () => {
    const models = ['tiny:latest', 'both', 'both:latest', 'away', 'away:latest']
    const listed = models.map((id) => ({ ...chatModel, id }))
    backend.draft = { ...backend.draft, models: listed }
    await backend.addWorker('w_2', ['tiny:latest', 'both', 'both:latest', 'away:latest'])
    const { client } = testClient(backend)
    const names = ['tiny', 'tiny', 'tiny:latest', 'both', 'both:latest']
    for (const model of names) await ask(client, { model })
    const sealed = backend.sealed.map(({ model }) => model)
    expect(sealed).toEqual(['tiny:latest', 'tiny:latest', 'tiny:latest', 'both', 'both:latest'])
    expect(backend.directoryCalls).toBe(1)
    // Receipts are compared with the name that the call was sealed for.
    for (const [model, full] of [
      ['tiny', 'tiny:latest'],
      ['latest', 'away:latest'],
    ] as const)
      expect((await client.exchange(call({ model }))).model).toBe(full)
    // The model of that very name has no worker: nothing else is asked instead.
    expect(await rejection(ask(client, { model: 'away' }))).toMatchObject({ code: 'no_worker' })
    for (const model of ['tin', 'tiny:7b'])
      expect(await rejection(ask(client, { model }))).toMatchObject({ code: 'model_not_found' })
    expect(backend.sealed.length).toBe(names.length + 2)
  })

  test('is never sent to a refused worker', async () => {
    worker.measurement = new Uint8Array(48)
    const { client } = testClient(backend)
    expect(await rejection(ask(client))).toMatchObject({ code: 'attestation_refused' })
    expect(backend.sealed).toEqual([])
  })
})

describe('an answer', () => {
  test('that was truncated is a lost connection, never a short answer', async () => {
    const { client } = testClient(backend)
    for (const cut of [1, 30, 80]) {
      backend.tamper = (bytes) => bytes.subarray(0, bytes.length - cut)
      expect(await rejection(ask(client))).toMatchObject({ code: 'worker_unreachable' })
    }
  })

  test('that ends before its head is retried', async () => {
    const { client } = testClient(backend)
    let times = 0
    backend.tamper = (bytes) => (++times < 3 ? bytes.subarray(0, 20) : bytes)
    expect(await ask(client)).toBe('answer to a prompt')
    expect(backend.sealed.length).toBe(3)
  })

  test('with any byte changed is refused as not authentic', async () => {
    const { client } = testClient(backend)
    let length = 0
    backend.tamper = (bytes) => {
      length = bytes.length
      return bytes
    }
    await ask(client)
    for (let at = 0; at < length; at += 7) {
      backend.tamper = (bytes) => bytes.with(at, bytes[at]! ^ 1) as typeof bytes
      const error = await ask(client).catch((caught) => caught)
      // A modified length may make the rest too short instead.
      expect(['response_not_authentic', 'worker_unreachable']).toContain(error.code)
    }
  })

  test('with bytes after its end is refused', async () => {
    const { client } = testClient(backend)
    backend.tamper = (bytes) => new Uint8Array([...bytes, 0])
    expect(await rejection(ask(client))).toMatchObject({ code: 'response_not_authentic' })
  })

  test('in clear text is an error, whatever its status', async () => {
    const clear = async (url: string, init: RequestInit) =>
      url.endsWith('/sealed') ? Response.json({ choices: [] }) : backend.fetch(url, init)
    const { client } = testClient(backend, { fetch: clear })
    expect(await rejection(ask(client))).toMatchObject({ code: 'upstream_error', status: 502 })
  })
})

describe('a gateway that never stops sending', () => {
  const part = 10_000
  /** Answers sealed calls, or all others, with an endless body. */
  function flood(which: 'sealed' | 'directory' | 'attestation', headers: Record<string, string>) {
    const seen = { sent: 0, cancelled: 0 }
    const fetch = async (url: string, init: RequestInit) => {
      if (!url.endsWith(which)) return backend.fetch(url, init)
      const body = new ReadableStream({
        pull(controller) {
          controller.enqueue(new Uint8Array(part))
          seen.sent += part
        },
        cancel: () => void seen.cancelled++,
      })
      return new Response(body, { headers })
    }
    return { seen, client: testClient(backend, { fetch, maxAnswerBytes: 5 * part }).client }
  }

  test('an answer is aborted at its limit and not requested again', async () => {
    const { seen, client } = flood('sealed', { 'content-type': sealedMediaType })
    const failure = { code: 'answer_too_large', retryable: false }
    expect(await rejection(ask(client))).toMatchObject(failure)
    expect(seen.cancelled).toBe(1)
    expect(seen.sent).toBeLessThanOrEqual(8 * part)
  })

  test('an answer that declares itself too long is not read at all', async () => {
    const declared = { 'content-type': sealedMediaType, 'content-length': `${6 * part}` }
    const { seen, client } = flood('sealed', declared)
    expect(await rejection(ask(client))).toMatchObject({ code: 'answer_too_large' })
    expect(seen.sent).toBeLessThanOrEqual(2 * part)
  })

  test('a short declared length is not trusted', async () => {
    const declared = { 'content-type': sealedMediaType, 'content-length': '10' }
    const { seen, client } = flood('sealed', declared)
    expect(await rejection(ask(client))).toMatchObject({ code: 'answer_too_large' })
    expect(seen.cancelled).toBe(1)
  })

  test.each(['sealed', 'directory', 'attestation'] as const)(
    'clear-text responses are aborted too: %s',
    async (which) => {
      const { seen, client } = flood(which, {})
      expect(await rejection(ask(client))).toMatchObject({ code: 'upstream_error' })
      expect(seen.cancelled).toBe(1)
    },
  )
})

test.each(['directory', 'attestation', 'sealed'])(
  'a connection that breaks during an answer has a code: %s',
  async (which) => {
    const fetch = async (url: string, init: RequestInit) => {
      if (!url.endsWith(which)) return backend.fetch(url, init)
      const body = new ReadableStream({
        pull: (controller) => controller.error(new TypeError('reset')),
      })
      return new Response(body, { status: which === 'sealed' ? 500 : 200 })
    }
    const { client } = testClient(backend, { fetch })
    expect(await rejection(ask(client))).toMatchObject({ code: 'gateway_unreachable' })
  },
)

describe('the fetch for official clients', () => {
  const post = (client: PrivateClient) =>
    privateFetch({ client, apiKey: 'key-a', defaultSalt: undefined })(
      'https://api.example/v1/chat/completions',
      { method: 'POST', body: JSON.stringify({ model: chatModel.id, messages: [] }) },
    )

  test('marks a refusal as not retryable', async () => {
    worker.measurement = new Uint8Array(48)
    const response = await post(testClient(backend).client)
    expect(response.status).toBe(502)
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(await response.json()).toMatchObject({ error: { code: 'attestation_refused' } })
  })

  test('allows a retry if the backend is merely unreachable', async () => {
    worker.attestInstead = async () => relayError(new ApiError('worker_unreachable', 'gone'))
    const response = await post(testClient(backend).client)
    expect(response.status).toBe(502)
    expect(response.headers.get('x-should-retry')).toBeNull()
  })
})
