import { beforeEach, describe, expect, test } from 'bun:test'
import { AttestationError } from '@privatemode/attestation'
import { ApiError, formatError } from '@privatemode/protocol/api'
import { rejection } from '../../../test/rejection.ts'
import { chatModel } from '../../attestation/src/testing/software-world.ts'
import { refusedError } from './refusals.ts'
import { FakeBackend, type FakeWorker, relayError } from './testing/fake-backend.ts'
import { servingIds, testWorkers } from './testing/test-client.ts'

const minuteMs = 60_000
const model = chatModel.id
const key = 'key-a'
let backend: FakeBackend
let first: FakeWorker

beforeEach(async () => {
  backend = await FakeBackend.start('w_1', 'w_2')
  first = backend.workers.get('w_1')!
})

describe('a refusal', () => {
  beforeEach(() => {
    second().listed = false
    first.measurement = new Uint8Array(48)
  })

  test('reaches the caller, marked as not retryable', async () => {
    const { workers, events } = testWorkers(backend)
    const error = await workers.require(key, model).catch((caught) => caught)
    expect(error).toMatchObject({ code: 'attestation_refused', retryable: false })
    expect(error.message).toContain('measurement_unknown')
    expect(formatError('openai', error, 'id').headers['x-should-retry']).toBe('false')
    expect(formatError('anthropic', error, 'id').headers['x-should-retry']).toBe('false')
    expect(events).toContainEqual({ kind: 'refused', workerId: 'w_1', code: 'measurement_unknown' })
    expect(refusedError(new Error('x')).retryable).toBe(false)
  })

  test('is final for that worker, which is not asked again', async () => {
    const { workers } = testWorkers(backend)
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(await rejection(workers.require(key, model))).toMatchObject({
        code: 'attestation_refused',
      })
      backend.advance(10 * minuteMs)
    }
    expect(backend.timesAsked('w_1')).toBe(1)
    expect(workers.refused).toMatchObject([{ workerId: 'w_1' }])
  })

  test('applies to the refused key only: another key is verified', async () => {
    const { workers } = testWorkers(backend)
    await workers.require(key, model).catch(() => {})
    first.measurement = backend.world.measurement
    await backend.rotate(first)
    await workers.require(key, model)
    expect(servingIds(workers)).toEqual(['w_1'])
  })

  test('is not final if the worker was unreachable', async () => {
    first.measurement = backend.world.measurement
    first.attestInstead = async () => relayError(new ApiError('worker_unreachable', 'gone'))
    const { workers } = testWorkers(backend)
    const failing = workers.require(key, model)
    expect(await rejection(failing)).toMatchObject({ code: 'worker_unreachable', retryable: true })
    first.attestInstead = undefined
    backend.advance(3_000)
    await workers.require(key, model)
    expect(backend.timesAsked('w_1')).toBe(2)
  })

  test('for expired collateral is not final: it is checked again', async () => {
    first.measurement = backend.world.measurement
    const { workers } = testWorkers(backend)
    const { expiresAt: _, ...lasting } = backend.draft
    backend.draft = lasting
    const rightTime = backend.now
    backend.advance(10 * 365 * 24 * 60 * minuteMs)
    expect(await rejection(workers.require(key, model))).toMatchObject({
      code: 'attestation_refused',
    })
    expect(backend.timesAsked('w_1')).toBe(1)
    backend.advance(16_000)
    await workers.require(key, model).catch(() => {})
    expect(backend.timesAsked('w_1')).toBe(2)
    backend.now = rightTime // correcting the clock ends the pause immediately
    await workers.require(key, model)
  })

  test('by the manifest in force fetches the latest manifest and retries once', async () => {
    const { workers, source } = testWorkers(backend)
    await workers.require(key, model).catch(() => {})
    expect(source.loads).toBe(2)
    backend.publish(first.measurement)
    backend.advance(2_000)
    await workers.require(key, model)
    expect(servingIds(workers)).toEqual(['w_1'])
  })

  test('that leaves a model without workers fetches the latest manifest again, although other models are served', async () => {
    second().listed = true
    const special = await backend.addWorker('w_3', ['special'])
    special.measurement = new Uint8Array(48)
    const { workers, source } = testWorkers(backend)
    await workers.refresh(key)
    const before = source.loads
    await workers.refresh(key)
    expect(source.loads).toBe(before)
    backend.advance(2_000)
    await workers.refresh(key)
    expect(source.loads).toBe(before + 1)
    special.listed = false
    backend.advance(2_000)
    await workers.refresh(key)
    expect(source.loads).toBe(before + 1)
  })

  test('stands if the latest manifest cannot be fetched', async () => {
    const { source: made } = testWorkers(backend)
    let loads = 0
    const load = async () => {
      loads += 1
      if (loads > 1) throw new AttestationError('log_unreachable', 'no answer')
      return backend.manifest()
    }
    const { workers } = testWorkers(backend, { manifestSource: { ...made, load } })
    const refused = workers.require(key, model)
    expect(await rejection(refused)).toMatchObject({ code: 'attestation_refused' })
    expect(loads).toBe(2)
  })

  test('is lifted by a newer manifest, even if other workers served meanwhile', async () => {
    second().listed = true
    const { workers } = testWorkers(backend)
    await workers.refresh(key)
    expect(servingIds(workers)).toEqual(['w_2'])
    backend.publish(backend.world.measurement, first.measurement)
    backend.advance(6 * minuteMs)
    await workers.refresh(key)
    expect(servingIds(workers)).toEqual(['w_1', 'w_2'])
  })

  test('by a pinned manifest does not reload the manifest', async () => {
    const { source: made } = testWorkers(backend)
    const source = { ...made, fixed: true }
    const { workers } = testWorkers(backend, { manifestSource: source })
    await workers.require(key, model).catch(() => {})
    backend.advance(10 * minuteMs)
    await workers.require(key, model).catch(() => {})
    expect(made.loads).toBe(1)
  })

  test('of one worker does not affect other workers or other models', async () => {
    second().listed = true
    const { workers } = testWorkers(backend)
    await workers.refresh(key)
    backend.draft = { ...backend.draft, models: [chatModel, { ...chatModel, id: 'other' }] }
    backend.advance(6 * minuteMs)
    const other = workers.require(key, 'other')
    expect(await rejection(other)).toMatchObject({ code: 'no_worker' })
    const unknown = workers.require(key, 'unheard-of')
    expect(await rejection(unknown)).toMatchObject({ code: 'model_not_found' })
  })

  test('ends the use of a worker whose evidence names another worker id', async () => {
    first.measurement = backend.world.measurement
    first.keys = second().keys
    const { workers } = testWorkers(backend)
    const impostor = workers.require(key, model)
    expect(await rejection(impostor)).toMatchObject({
      code: 'attestation_refused',
      message: expect.stringContaining('binding_mismatch'),
    })
  })
})

describe('API keys', () => {
  test('that the gateway refuses fail only for their own caller', async () => {
    backend.directoryInstead = (apiKey) =>
      (apiKey === 'bad'
        ? Promise.resolve(relayError(new ApiError('invalid_api_key', 'wrong key')))
        : undefined) as never
    const { workers } = testWorkers(backend)
    const bad = workers.require('bad', model)
    const good = Promise.all([workers.require('good', model), workers.require('other', model)])
    expect(await rejection(bad)).toMatchObject({ code: 'invalid_api_key' })
    await good
    expect(backend.attestations.length).toBe(2)
  })
})

const second = () => backend.workers.get('w_2')!
