import { beforeEach, expect, test } from 'bun:test'
import { AttestationError, type Manifest } from '@privatemode/attestation'
import { rejection } from '../../../test/rejection.ts'
import { ManifestKeeper } from './manifest-keeper.ts'
import type { ClientEvent } from './options.ts'
import { FakeBackend } from './testing/fake-backend.ts'
import { type TestSource, testSource } from './testing/test-client.ts'

const minuteMs = 60_000
let backend: FakeBackend
let source: TestSource
let keeper: ManifestKeeper
const events: ClientEvent[] = []

beforeEach(async () => {
  backend = await FakeBackend.start()
  source = testSource(backend)
  events.length = 0
  keeper = new ManifestKeeper(
    source,
    () => backend.now,
    (event) => events.push(event),
  )
})

const publish = async (): Promise<Manifest> => {
  backend.draft = { ...backend.draft, serial: backend.draft.serial + 1 }
  return backend.manifest()
}

test('concurrent callers share one load, and its result is kept', async () => {
  const loaded = await Promise.all(Array.from({ length: 10 }, () => keeper.get()))
  expect(new Set(loaded).size).toBe(1)
  expect(await keeper.getCurrent()).toBe(loaded[0]!)
  expect(source.loads).toBe(1)
})

test('a failed load is not cached', async () => {
  const failing = new ManifestKeeper(
    { ...source, load: () => Promise.reject(new AttestationError('log_forked', 'fork')) },
    () => backend.now,
  )
  expect(await rejection(failing.get())).toMatchObject({ code: 'log_forked' })
  expect(await rejection(failing.getCurrent())).toMatchObject({ code: 'log_forked' })
  expect(failing.current).toBeUndefined()
})

test('after five minutes the latest manifest is loaded', async () => {
  await keeper.get()
  const latest = await publish()
  backend.advance(5 * minuteMs - 1)
  expect((await keeper.getCurrent()).serial).toBe(1)
  backend.advance(1)
  expect(keeper.due).toBe(true)
  expect((await keeper.getCurrent()).digest).toBe(latest.digest)
  expect(keeper.due).toBe(false)
})

test('a clock that is set back makes it due too', async () => {
  await keeper.get()
  backend.advance(-1)
  expect(keeper.due).toBe(true)
})

test('a pinned document is never due', async () => {
  const fixed = new ManifestKeeper(testSource(backend, true), () => backend.now)
  await fixed.get()
  backend.advance(1_000 * minuteMs)
  expect(fixed.due).toBe(false)
  expect(fixed.fixed).toBe(true)
})

test('an unreachable host leaves the manifest in force, and is asked again after a minute', async () => {
  const { load } = source
  await keeper.get()
  source.load = () => Promise.reject(new AttestationError('log_unreachable', 'no answer'))
  backend.advance(5 * minuteMs)
  expect((await keeper.getCurrent()).serial).toBe(1)
  expect(keeper.due).toBe(false)
  const latest = await publish()
  source.load = load
  backend.advance(minuteMs)
  expect((await keeper.getCurrent()).digest).toBe(latest.digest)
})

test.each(['log_forked', 'log_rolled_back', 'log_signature_invalid', 'log_malformed'] as const)(
  'a log that is refused (%s) ends the use of the manifest in force until it is valid again',
  async (code) => {
    const { load } = source
    await keeper.get()
    source.load = () => Promise.reject(new AttestationError(code, 'wrong'))
    backend.advance(5 * minuteMs)
    expect(await rejection(keeper.getCurrent())).toMatchObject({ code })
    expect(keeper.usable).toBe(false)
    expect(keeper.logRefused).toBe(code)
    source.load = load
    expect((await keeper.getCurrent()).serial).toBe(1)
    expect(keeper.usable).toBe(true)
    expect(keeper.logRefused).toBeUndefined()
  },
)

test('a log that was refused stays refused while it is unreachable, and if the clock is set back', async () => {
  await keeper.get()
  source.load = () => Promise.reject(new AttestationError('log_forked', 'two histories'))
  backend.advance(5 * minuteMs)
  expect(await rejection(keeper.getCurrent())).toMatchObject({ code: 'log_forked' })
  source.load = unreachable
  backend.advance(-minuteMs)
  expect(await rejection(keeper.getCurrent())).toMatchObject({ code: 'log_forked' })
  expect(keeper.usable).toBe(false)
})

test('a manifest is recorded once, when the first worker is verified against it', async () => {
  const first = await keeper.get()
  expect(keeper.enforcedAt).toBeUndefined()
  await Promise.all(Array.from({ length: 5 }, () => keeper.markEnforced(first)))
  expect(source.enforcedManifests).toEqual([{ digest: first.digest, at: backend.now }])
  expect(keeper.enforcedAt).toEqual(backend.now)
  backend.advance(minuteMs)
  await keeper.markEnforced(first)
  const second = await publish()
  await keeper.markEnforced(second)
  expect(source.enforcedManifests.map(({ digest }) => digest)).toEqual([
    first.digest,
    second.digest,
  ])
})

test('a failed recording is an error for all waiting callers, and is retried', async () => {
  const manifest = await keeper.get()
  const { enforced } = source
  Object.assign(source, { enforced: () => Promise.reject(new Error('the disk is full')) })
  const waiting = await Promise.allSettled([
    keeper.markEnforced(manifest),
    keeper.markEnforced(manifest),
  ])
  expect(waiting.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(keeper.enforcedAt).toBeUndefined()
  Object.assign(source, { enforced })
  await keeper.markEnforced(manifest)
  expect(source.enforcedManifests.length).toBe(1)
})

const hourMs = 60 * minuteMs
const unreachable = () => Promise.reject(new AttestationError('log_unreachable', 'status 503'))
/** The log as signed now, valid for three days. */
const signNow = () => {
  const staleAt = new Date(backend.now.getTime() + 72 * hourMs)
  source.fresh = { asOf: backend.now, staleAt }
  return staleAt
}
const kinds = () => events.map(({ kind }) => kind)

test('an unreachable log keeps the manifest until its last signature is too old, and reports it each time', async () => {
  const staleAt = signNow()
  const asOf = backend.now
  await keeper.get()
  source.load = unreachable
  backend.advance(72 * hourMs - 1)
  await keeper.getCurrent()
  expect(keeper.usable).toBe(true)
  expect(events).toContainEqual({
    kind: 'log-unreachable',
    reason: 'status 503',
    asOf,
    until: staleAt,
  })
  backend.advance(1)
  expect(keeper.usable).toBe(false)
  const stale = { code: 'log_stale', message: expect.stringContaining('status 503') }
  expect(await rejection(keeper.getCurrent())).toMatchObject(stale)
  expect(await rejection(keeper.get())).toMatchObject({ code: 'log_unreachable' })
})

test('a log that can be read again is announced once', async () => {
  signNow()
  await keeper.get()
  const { load } = source
  source.load = unreachable
  for (const _ of [1, 2]) {
    backend.advance(5 * minuteMs)
    await keeper.getCurrent()
  }
  source.load = load
  for (const _ of [1, 2]) {
    backend.advance(5 * minuteMs)
    await keeper.getCurrent()
  }
  expect(events.slice(1).map(({ kind }) => kind)).toEqual([
    'log-unreachable',
    'log-unreachable',
    'log-recovered',
  ])
  expect(events.at(-1)).toEqual({ kind: 'log-recovered', warning: 'log-unreachable' })
})

test('a log that is signed again after a warning is announced once', async () => {
  signNow()
  await keeper.get()
  backend.advance(40 * hourMs)
  await keeper.getCurrent()
  signNow()
  for (const _ of [1, 2]) {
    backend.advance(5 * minuteMs)
    await keeper.getCurrent()
  }
  expect(events.slice(1)).toEqual([
    expect.objectContaining({ kind: 'manifest-aging', what: 'log' }),
    { kind: 'log-recovered', warning: 'manifest-aging' },
  ])
})

test('a log that is signed again continues without a gap', async () => {
  signNow()
  const { load } = source
  source.load = () => {
    signNow()
    return load()
  }
  await keeper.get()
  for (let day = 0; day < 10; day++) {
    backend.advance(24 * hourMs)
    await keeper.getCurrent()
    expect(keeper.usable).toBe(true)
  }
  expect(kinds()).toEqual(['manifest-changed'])
})

test('the expiry of the log’s signature is announced after half of its lifetime, once an hour', async () => {
  const until = signNow()
  const asOf = backend.now
  await keeper.get()
  backend.advance(36 * hourMs - 1)
  await keeper.getCurrent()
  expect(kinds()).toEqual(['manifest-changed'])
  backend.advance(5 * minuteMs)
  await keeper.getCurrent()
  backend.advance(5 * minuteMs)
  await keeper.getCurrent()
  expect(events.slice(1)).toEqual([{ kind: 'manifest-aging', what: 'log', asOf, until }])
  backend.advance(hourMs)
  await keeper.getCurrent()
  expect(events.slice(2)).toHaveLength(1)
})

test('a manifest expires when it says so, pinned or not, and that is announced a week before', async () => {
  const until = new Date(backend.draft.expiresAt!)
  for (const fixed of [false, true]) {
    events.length = 0
    const one = new ManifestKeeper(
      testSource(backend, fixed),
      () => backend.now,
      (event) => events.push(event),
    )
    backend.now = new Date(until.getTime() - 7 * 24 * hourMs)
    await one.get()
    expect(kinds()).toEqual(['manifest-changed'])
    backend.advance(1)
    await one.getCurrent()
    await one.getCurrent()
    expect(events.slice(1)).toEqual([
      { kind: 'manifest-aging', what: 'manifest', asOf: undefined, until },
    ])
    backend.now = until
    expect(one.usable).toBe(false)
    expect(await rejection(one.getCurrent())).toMatchObject({ code: 'manifest_expired' })
  }
})

test('a log and a manifest that both expire soon are both announced, each once an hour', async () => {
  const until = new Date(backend.draft.expiresAt!)
  backend.now = new Date(until.getTime() - 40 * hourMs)
  const staleAt = signNow()
  const asOf = backend.now
  const log = { kind: 'manifest-aging', what: 'log', asOf, until: staleAt } as const
  const manifest = { kind: 'manifest-aging', what: 'manifest', asOf, until } as const
  await keeper.get()
  expect(events.slice(1)).toEqual([manifest])
  backend.advance(36 * hourMs)
  await keeper.getCurrent()
  await keeper.getCurrent()
  expect(events.slice(2)).toEqual([log, manifest])
  backend.advance(hourMs)
  await keeper.getCurrent()
  expect(events.slice(4)).toEqual([log, manifest])
})
