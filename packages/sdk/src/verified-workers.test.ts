import { beforeEach, describe, expect, test } from 'bun:test'
import { ApiError } from '@privatemode/protocol/api'
import { chatModel } from '../../attestation/src/testing/software-world.ts'
import { FakeBackend, type FakeWorker, relayError } from './testing/fake-backend.ts'
import { servingIds, testWorkers } from './testing/test-client.ts'
import type { VerifiedWorkers } from './verified-workers.ts'

const minuteMs = 60_000
const model = chatModel.id
const key = 'key-a'
let backend: FakeBackend
let first: FakeWorker

beforeEach(async () => {
  backend = await FakeBackend.start('w_1', 'w_2')
  first = backend.workers.get('w_1')!
})

/** Calls `touch` and waits for the refresh that this must have started; fails if it started none. */
const touch = async (workers: VerifiedWorkers) => {
  const before = backend.directoryCalls
  workers.touch(key)
  expect(backend.directoryCalls).toBe(before + 1)
  await workers.refresh(key).catch(() => {}) // joins the running refresh
}

describe('a session', () => {
  test('starts with a fresh 32-byte nonce for every worker and every renewal', async () => {
    const { workers } = testWorkers(backend)
    await workers.refresh(key)
    backend.advance(50 * minuteMs)
    await workers.refresh(key)
    const nonces = backend.attestations.map(({ nonce }) => nonce)
    expect(nonces.length).toBe(4)
    expect(new Set(nonces).size).toBe(4)
    expect(nonces.every((nonce) => /^[0-9a-f]{64}$/.test(nonce))).toBe(true)
  })

  test('expires within an hour: nothing is sealed to its worker after that', async () => {
    const { workers } = testWorkers(backend)
    await workers.refresh(key)
    expect(servingIds(workers)).toEqual(['w_1', 'w_2'])
    backend.advance(55 * minuteMs - 1)
    expect(workers.serving(model).length).toBe(2)
    backend.advance(1)
    expect(workers.serving(model)).toEqual([])
  })

  test('is as short as the manifest demands', async () => {
    backend.draft = { ...backend.draft, sessionMinutes: 5 }
    const { workers } = testWorkers(backend)
    await workers.refresh(key)
    backend.advance(5 * minuteMs)
    expect(workers.serving(model)).toEqual([])
  })

  test('never outlives the key it is for', async () => {
    backend.advance(23.5 * 60 * minuteMs)
    const { workers } = testWorkers(backend)
    await workers.refresh(key)
    const [worker] = workers.serving(model)
    expect(worker!.validUntil).toEqual(worker!.sealKey.expiresAt)
  })
})

describe('renewal', () => {
  test('is renewed in the background before it expires, while requests continue', async () => {
    const { workers } = testWorkers(backend)
    await workers.refresh(key)
    const before = workers.serving(model)[0]!.verifiedAt
    backend.advance(40 * minuteMs)
    await touch(workers)
    expect(backend.attestations.length).toBe(2)
    backend.advance(5 * minuteMs)
    const renewing = touch(workers)
    expect(workers.serving(model).length).toBe(2)
    await renewing
    expect(backend.attestations.length).toBe(4)
    expect(workers.serving(model)[0]!.verifiedAt).not.toEqual(before)
    backend.advance(50 * minuteMs)
    expect(workers.serving(model).length).toBe(2)
  })

  test('is shared by all waiting callers', async () => {
    const { workers } = testWorkers(backend)
    await Promise.all(Array.from({ length: 100 }, () => workers.require(key, model)))
    expect(backend.directoryCalls).toBe(1)
    expect(backend.attestations.length).toBe(2)
  })

  test('is requested by many calls and done once', async () => {
    const { workers } = testWorkers(backend)
    await workers.refresh(key)
    backend.advance(50 * minuteMs)
    for (let request = 0; request < 100; request++) workers.touch(key)
    expect(backend.directoryCalls).toBe(2)
    await workers.refresh(key)
    expect(backend.attestations.length).toBe(4)
  })

  test('that fails in transit leaves the session that is still valid', async () => {
    const { workers, events } = testWorkers(backend)
    await workers.refresh(key)
    first.attestInstead = async () => relayError(new ApiError('worker_unreachable', 'gone'))
    backend.advance(50 * minuteMs)
    await workers.refresh(key)
    expect(servingIds(workers)).toEqual(['w_1', 'w_2'])
    expect(events.at(-1)).toMatchObject({ kind: expect.stringMatching(/unreachable|verified/) })
    backend.advance(6 * minuteMs)
    expect(servingIds(workers)).toEqual(['w_2'])
  })

  test('that is refused ends the session immediately', async () => {
    const { workers } = testWorkers(backend)
    await workers.refresh(key)
    first.measurement = new Uint8Array(48)
    backend.advance(50 * minuteMs)
    await workers.refresh(key)
    expect(servingIds(workers)).toEqual(['w_2'])
  })

  test('is immediate once a key is unknown, even if everything was just verified', async () => {
    const { workers } = testWorkers(backend)
    await workers.refresh(key)
    await backend.rotate(first)
    workers.forget(['w_1'])
    expect(servingIds(workers)).toEqual(['w_2'])
    await touch(workers)
    expect(servingIds(workers)).toEqual(['w_1', 'w_2'])
    expect(backend.timesAsked('w_1')).toBe(2)
    expect(backend.timesAsked('w_2')).toBe(1)
  })

  test('of a key that was forgotten during a renewal is not lost', async () => {
    second().listed = false
    const { workers } = testWorkers(backend)
    await workers.refresh(key)
    const slow = await backend.addSlowWorker('w_3')
    backend.advance(11_000)
    workers.touch(key)
    await slow.asked
    workers.forget(['w_1'])
    const waiting = workers.require(key, model)
    slow.fail()
    await waiting
    expect(servingIds(workers)).toEqual(['w_1'])
  })

  test('that was in progress when a key was forgotten is followed by another', async () => {
    const { workers } = testWorkers(backend)
    await workers.refresh(key)
    const slow = await backend.addSlowWorker('w_3')
    backend.advance(11_000)
    const renewing = touch(workers)
    await slow.asked
    workers.forget(['w_1'])
    slow.fail()
    await renewing
    expect(servingIds(workers)).toEqual(['w_2'])
    await touch(workers)
    expect(servingIds(workers)).toEqual(['w_1', 'w_2'])
  })

  test('does not wait for a slow worker once another one is verified', async () => {
    first.attestInstead = () => new Promise<Response>(() => {})
    const { workers } = testWorkers(backend)
    await workers.require(key, model)
    expect(servingIds(workers)).toEqual(['w_2'])
  })

  test('is not retried on every request while the directory is failing', async () => {
    const { workers } = testWorkers(backend)
    await workers.refresh(key)
    backend.directoryInstead = async () => relayError(new ApiError('internal_error', 'no'))
    backend.advance(11_000)
    await touch(workers)
    for (let request = 0; request < 5; request++) workers.touch(key)
    expect(backend.directoryCalls).toBe(2)
    backend.advance(3_000)
    await touch(workers)
    expect(workers.serving(model).length).toBe(2)
  })

  test('follows a worker to its next key as soon as it is listed', async () => {
    const { workers } = testWorkers(backend)
    await workers.refresh(key)
    const old = workers.serving(model).find(({ workerId }) => workerId === 'w_1')!.sealKey.id
    await backend.rotate(first)
    backend.advance(11_000)
    await workers.refresh(key)
    expect(backend.timesAsked('w_1')).toBe(2)
    expect(workers.all.map(({ sealKey }) => sealKey.id)).not.toContain(old)
  })

  test('finds new workers and drops those that left', async () => {
    const { workers } = testWorkers(backend)
    await workers.refresh(key)
    await backend.addWorker('w_3')
    first.listed = false
    backend.advance(11_000)
    await workers.refresh(key)
    expect(servingIds(workers)).toEqual(['w_2', 'w_3'])
  })
})

const second = () => backend.workers.get('w_2')!

test('setting the clock back does not extend a verification', async () => {
  const { workers } = testWorkers(backend)
  backend.advance(120 * minuteMs)
  await workers.require(key, model)
  expect(workers.serving(model).length).toBeGreaterThan(0)
  backend.advance(-30_000)
  expect(workers.serving(model).length).toBeGreaterThan(0)
  backend.advance(-120 * minuteMs)
  expect(workers.serving(model)).toEqual([])
  const before = backend.attestations.length
  await workers.require(key, model)
  expect(backend.attestations.length).toBeGreaterThan(before)
})

test('setting the clock back does not extend the pause after a failed refresh', async () => {
  const { workers } = testWorkers(backend)
  backend.advance(120 * minuteMs)
  await workers.refresh(key)
  backend.directoryInstead = async () => relayError(new ApiError('internal_error', 'no'))
  backend.advance(11_000)
  await touch(workers)
  backend.directoryInstead = undefined
  backend.advance(-120 * minuteMs)
  await touch(workers)
  expect(workers.serving(model).length).toBe(2)
})
