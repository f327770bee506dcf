import { expect, test } from 'bun:test'
import type { AttestedWorker } from '@privatemode/attestation'
import { formatHex } from '@privatemode/protocol/envelope'
import { chatModel } from '../../attestation/src/testing/software-world.ts'
import { Sessions } from './sessions.ts'
import { FakeBackend } from './testing/fake-backend.ts'
import { testWorkers } from './testing/test-client.ts'

async function attested(): Promise<[FakeBackend, AttestedWorker, () => Promise<AttestedWorker>]> {
  const backend = await FakeBackend.start('w_1')
  const { workers } = testWorkers(backend)
  const verify = async () => {
    workers.forget(['w_1'])
    await workers.require('key', chatModel.id)
    return workers.serving(chatModel.id)[0]!
  }
  return [backend, await verify(), verify]
}

test('one encapsulation serves all waiting callers and those after them', async () => {
  const [, worker] = await attested()
  const sessions = new Sessions()
  expect(sessions.get('key', worker)).toBeUndefined()
  const made = await Promise.all(
    Array.from({ length: 10 }, () => sessions.establish('key', worker)),
  )
  expect(new Set(made).size).toBe(1)
  expect(sessions.get('key', worker)).toBe(made[0]!)
  expect(await sessions.establish('key', worker)).toBe(made[0]!)
})

test('no two API keys share a session', async () => {
  const [, worker] = await attested()
  const sessions = new Sessions()
  const a = await sessions.establish('key-a', worker)
  const b = await sessions.establish('key-b', worker)
  expect(formatHex(a.encapsulation)).not.toBe(formatHex(b.encapsulation))
  expect(formatHex(a.secret)).not.toBe(formatHex(b.secret))
  expect(sessions.get('key-b', worker)).toBe(b)
})

test('a worker that was verified again gets a new session', async () => {
  const [, worker, verify] = await attested()
  const sessions = new Sessions()
  await sessions.establish('key', worker)
  const again = await verify()
  expect(again).not.toBe(worker)
  expect(sessions.get('key', again)).toBeUndefined()
})

test('the worker decapsulates the same secret', async () => {
  const [backend, worker] = await attested()
  const session = await new Sessions().establish('key', worker)
  const [key] = backend.workers.get('w_1')!.keys
  const opened = await key!.pair.openSession(session.encapsulation, key!.digest)
  expect(formatHex(opened)).toBe(formatHex(session.secret))
})

test('nothing is encapsulated to an unverified worker, even if it looks like a verified one', async () => {
  const [, worker] = await attested()
  const sessions = new Sessions()
  for (const forged of [{ ...worker }, JSON.parse('{}'), null]) {
    expect(() => sessions.establish('key', forged)).toThrow('only a verified worker')
  }
})

test('sessions of the least recently used key are evicted first', async () => {
  const [, worker] = await attested()
  const sessions = new Sessions(undefined, 2)
  const session = await sessions.establish('kept', worker)
  await sessions.establish('dropped', worker)
  await sessions.establish('kept', worker)
  await sessions.establish('new', worker)
  expect(sessions.get('kept', worker)).toBe(session)
  expect(sessions.get('dropped', worker)).toBeUndefined()
})
