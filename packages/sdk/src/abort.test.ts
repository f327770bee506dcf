/** What a caller's abort ends, what it leaves to others, and what is left of it. */
import { beforeEach, expect, test } from 'bun:test'
import { formatManifest } from '@privatemode/attestation'
import { ApiError } from '@privatemode/protocol/api'
import { encodeText, type TrafficShape } from '@privatemode/protocol/envelope'
import { rejection } from '../../../test/rejection.ts'
import { chatModel } from '../../attestation/src/testing/software-world.ts'
import type { PrivateClient } from './client.ts'
import { LazyConnection } from './lazy-connection.ts'
import { defaultTimeouts } from './options.ts'
import { privateFetch } from './private-fetch.ts'
import { FakeBackend, relayError } from './testing/fake-backend.ts'
import { testClient } from './testing/test-client.ts'

const reason = new Error('the caller has left')
let backend: FakeBackend

beforeEach(async () => {
  backend = await FakeBackend.start('w_1')
})

const ask = async (client: PrivateClient, signal?: AbortSignal, stream = false) => {
  const body = encodeText('a prompt')
  const call = { path: '/v1/chat/completions', model: chatModel.id, body, stream, apiKey: 'key' }
  return new TextDecoder().decode(await (await client.exchange(call, signal)).whole())
}

/** The directory answers only when the test says so. */
function holdDirectory() {
  const asked = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  backend.directoryInstead = async () => {
    asked.resolve()
    await held.promise
    return undefined
  }
  return { asked: asked.promise, release: held.resolve }
}

test('an abort ends the wait for a verification, which goes on for other callers', async () => {
  const directory = holdDirectory()
  const { client } = testClient(backend)
  const stop = new AbortController()
  const left = rejection(ask(client, stop.signal))
  const staying = ask(client)
  await directory.asked
  stop.abort(reason)
  expect(await left).toBe(reason)
  directory.release()
  expect(await staying).toBe('answer to a prompt')
  expect(backend.directoryCalls).toBe(1)
  expect(backend.sealed.length).toBe(1)
})

test('an abort ends the wait for the list of models', async () => {
  const directory = holdDirectory()
  const { client } = testClient(backend)
  const stop = new AbortController()
  const fetch = privateFetch({ client, apiKey: 'key', defaultSalt: undefined })
  const left = rejection(fetch('https://g.example/v1/models', { signal: stop.signal }))
  await directory.asked
  stop.abort(reason)
  expect(await left).toBe(reason)
  directory.release()
})

test('an abort ends the wait for a connection', async () => {
  const asked = Promise.withResolvers<void>()
  const connection = new LazyConnection({
    apiKey: 'key',
    endpoint: 'https://gateway.example',
    manifest: { pinned: formatManifest(backend.draft) },
    network: () => {
      asked.resolve()
      return new Promise(() => {})
    },
  })
  const stop = new AbortController()
  const url = 'https://gateway.example/v1/models'
  const inInit = rejection(connection.fetch(url, { signal: stop.signal }))
  const inRequest = rejection(connection.fetch(new Request(url, { signal: stop.signal })))
  await asked.promise
  stop.abort(reason)
  expect(await inInit).toBe(reason)
  expect(await inRequest).toBe(reason)
})

test('an abort in the pause before a retry ends it', async () => {
  const stop = new AbortController()
  let attempts = 0
  const fetch = async (url: string, init: RequestInit) => {
    if (!url.endsWith('/sealed')) return backend.fetch(url, init)
    attempts += 1
    // The first retry is immediate, the second one waits.
    if (attempts === 2) setTimeout(() => stop.abort(reason), 0)
    return relayError(new ApiError('worker_unreachable', 'gone'))
  }
  const { client } = testClient(backend, { fetch })
  expect(await rejection(ask(client, stop.signal))).toBe(reason)
  expect(attempts).toBe(2)
})

test('a call that was aborted while it was sealed is not sent', async () => {
  const { client } = testClient(backend)
  await ask(client)
  const stop = new AbortController()
  const left = rejection(ask(client, stop.signal))
  stop.abort(reason)
  expect(await left).toBe(reason)
  expect(backend.sealed.length).toBe(1)
})

test('a request whose answer does not start in time is aborted', async () => {
  let sent: AbortSignal | null | undefined
  const fetch = async (url: string, init: RequestInit) => {
    if (!url.endsWith('/sealed')) return backend.fetch(url, init)
    sent = init.signal
    return await new Promise<never>(() => {})
  }
  const timeouts = { ...defaultTimeouts, firstByteMs: 50 }
  const { client } = testClient(backend, { fetch, timeouts })
  expect(await rejection(ask(client))).toMatchObject({ code: 'timeout' })
  expect(sent?.aborted).toBe(true)
})

/** A caller's signal that counts who listens to it. */
function countedSignal() {
  const { signal } = new AbortController()
  const listeners = new Set<unknown>()
  const { addEventListener, removeEventListener } = signal
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listeners.add(args[1])
    addEventListener.apply(signal, args)
  }
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listeners.delete(args[1])
    removeEventListener.apply(signal, args)
  }
  return { signal, listeners }
}

test.each(['off', 'default', 'strict'] satisfies TrafficShape[])(
  'no listener stays on the signal of a caller: %s',
  async (shape) => {
    const { signal, listeners } = countedSignal()
    let isRefused = false
    const fetch = async (url: string, init: RequestInit) =>
      isRefused && url.endsWith('/sealed')
        ? relayError(new ApiError('rate_limit_exceeded', 'later'))
        : backend.fetch(url, init)
    const { client } = testClient(backend, { fetch, shape })
    for (const stream of [false, true]) await ask(client, signal, stream)
    expect(listeners.size).toBe(0)
    backend.tamper = (answer) => answer.slice(0, -1)
    for (const stream of [false, true]) {
      expect(await rejection(ask(client, signal, stream))).toBeInstanceOf(ApiError)
    }
    expect(listeners.size).toBe(0)
    isRefused = true
    for (let calls = 0; calls < 20; calls++) {
      expect(await rejection(ask(client, signal))).toMatchObject({ code: 'rate_limit_exceeded' })
    }
    expect(listeners.size).toBe(0)
  },
)
