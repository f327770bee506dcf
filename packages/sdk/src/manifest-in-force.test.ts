/** How the manifest in force, or its absence, decides which workers may be used. */
import { beforeEach, describe, expect, test } from 'bun:test'
import { AttestationError } from '@privatemode/attestation'
import { ApiError } from '@privatemode/protocol/api'
import { encodeText } from '@privatemode/protocol/envelope'
import { rejection } from '../../../test/rejection.ts'
import { chatModel } from '../../attestation/src/testing/software-world.ts'
import type { PrivateClient } from './client.ts'
import { FakeBackend, relayError } from './testing/fake-backend.ts'
import { testClient, testWorkers } from './testing/test-client.ts'

const minuteMs = 60_000
const model = chatModel.id
const key = 'key-a'
let backend: FakeBackend

beforeEach(async () => {
  backend = await FakeBackend.start('w_1', 'w_2')
})

describe('the manifest', () => {
  const source = (fail: () => Error | undefined) => {
    const { source: made } = testWorkers(backend)
    const load = async () => {
      const error = fail()
      if (error !== undefined) throw error
      return backend.manifest()
    }
    return { ...made, load }
  }

  test('from an invalid log refuses the backend: a retry cannot help', async () => {
    const fork = new AttestationError('log_forked', 'two histories')
    const { workers } = testWorkers(backend, { manifestSource: source(() => fork) })
    const error = await workers.require(key, model).catch((caught) => caught)
    expect(error).toMatchObject({ code: 'attestation_refused', retryable: false })
    expect(error.message).toContain('log_forked')
  })

  test('that cannot be fetched at first is retryable', async () => {
    const unreachable = new AttestationError('log_unreachable', 'no answer')
    const { workers } = testWorkers(backend, { manifestSource: source(() => unreachable) })
    const failing = workers.require(key, model)
    expect(await rejection(failing)).toMatchObject({ code: 'gateway_unreachable', retryable: true })
  })

  test('is recorded before the first worker is used; if recording fails, none is used', async () => {
    const { workers, source: recorded } = testWorkers(backend)
    await workers.refresh(key)
    expect(recorded.enforcedManifests.length).toBe(1)
    const enforced = () => Promise.reject(new Error('the disk is full'))
    const { workers: unused } = testWorkers(backend, {
      manifestSource: { ...source(() => undefined), enforced },
    })
    await unused.refresh(key)
    expect(unused.serving(model)).toEqual([])
  })

  test('is not recorded if no worker was verified', async () => {
    for (const worker of backend.workers.values()) worker.measurement = new Uint8Array(48)
    const { workers, source: recorded } = testWorkers(backend)
    await workers.refresh(key)
    expect(recorded.enforcedManifests).toEqual([])
  })

  test('when replaced, ends every session under the old one', async () => {
    const { workers } = testWorkers(backend)
    await workers.refresh(key)
    backend.publish(new Uint8Array(48))
    backend.advance(6 * minuteMs)
    await workers.refresh(key)
    expect(workers.serving(model)).toEqual([])
  })

  const ask = async (client: PrivateClient) => {
    const body = encodeText('a prompt')
    const call = { path: '/v1/chat/completions', model, body, stream: false, apiKey: key }
    await (await client.exchange(call)).whole()
  }

  test('when loaded, ends every session under the old one, even if the directory is withheld', async () => {
    const { client } = testClient(backend)
    await ask(client)
    backend.publish(new Uint8Array(48))
    backend.advance(6 * minuteMs)
    backend.directoryInstead = async () => relayError(new ApiError('internal_error', 'no'))
    await client.loadManifest()
    const before = backend.sealed.length
    for (let calls = 0; calls < 48; calls++) {
      expect(await rejection(ask(client))).toMatchObject({ code: 'internal_error' })
      backend.advance(minuteMs)
    }
    expect(backend.sealed.length).toBe(before)
    expect(client.verification().workers).toEqual([])
  })

  test('that still lists the workers replaces the old one without a failed call', async () => {
    const { client } = testClient(backend)
    await ask(client)
    backend.publish(backend.world.measurement)
    backend.advance(6 * minuteMs)
    await client.loadManifest()
    await Promise.all(Array.from({ length: 10 }, () => ask(client)))
    expect(backend.timesAsked('w_1')).toBe(2)
    expect(client.verification()).toMatchObject({ manifest: { serial: 2 }, workers: [{}, {}] })
  })

  test('that is loaded during a verification is the one that counts', async () => {
    const asked = Promise.withResolvers<void>()
    const loaded = Promise.withResolvers<void>()
    const { workers, keeper } = testWorkers(backend, {
      fetch: async (url, init) => {
        if (url.endsWith('/attestation')) {
          asked.resolve()
          await loaded.promise
        }
        return backend.fetch(url, init)
      },
    })
    const waiting = workers.require(key, model)
    await asked.promise
    backend.publish(backend.world.measurement)
    const { digest } = await keeper.load()
    loaded.resolve()
    await waiting
    expect(workers.serving(model)[0]?.manifestDigest).toBe(digest)
  })

  test('of a log that is refused later seals nothing until the log is valid again', async () => {
    let refusal: Error | undefined
    const { client } = testClient(backend, { manifestSource: source(() => refusal) })
    await ask(client)
    refusal = new AttestationError('log_forked', 'two histories')
    backend.advance(6 * minuteMs)
    expect(await rejection(client.loadManifest())).toBe(refusal)
    const refused = { code: 'attestation_refused', retryable: false, cause: refusal }
    expect(await rejection(ask(client))).toMatchObject(refused)
    expect(client.verification().manifest).toMatchObject({ log_refused: 'log_forked' })
    expect(backend.sealed.length).toBe(1)
    refusal = undefined
    await ask(client)
    expect(client.verification().manifest).toMatchObject({ log_refused: null })
  })

  test('of a log that is refused while a worker is refused seals nothing either', async () => {
    let refusal: Error | undefined
    const { workers } = testWorkers(backend, { manifestSource: source(() => refusal) })
    await workers.refresh(key)
    const other = await backend.addWorker('w_3')
    other.measurement = new Uint8Array(48)
    backend.advance(11_000)
    refusal = new AttestationError('log_rolled_back', 'an old state')
    const refused = { code: 'attestation_refused', cause: refusal }
    expect(await rejection(workers.refresh(key))).toMatchObject(refused)
    expect(workers.serving(model)).toEqual([])
  })

  test('that is no longer known to be the latest seals nothing, although workers are verified', async () => {
    const { workers, keeper, source: recorded } = testWorkers(backend)
    recorded.fresh = { asOf: backend.now, staleAt: new Date(backend.now.getTime() + minuteMs) }
    await workers.refresh(key)
    expect(workers.serving(model)).toHaveLength(2)
    backend.advance(minuteMs)
    expect(keeper.usable).toBe(false)
    expect(workers.serving(model)).toEqual([])
    const stale = new AttestationError('log_stale', 'nobody signs')
    recorded.load = () => Promise.reject(stale)
    const error = await workers.require(key, model).catch((caught) => caught)
    expect(error).toMatchObject({ code: 'attestation_refused', retryable: false, cause: stale })
  })
})
