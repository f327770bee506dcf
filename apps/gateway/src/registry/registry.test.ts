import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { FairShare } from '@privatemode/service'
import { rejection } from '../../../../test/rejection.ts'
import type { Database } from '../state/database.ts'
import { registrationFields } from '../testing/scripted-worker.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import { loadOf, orderCandidates } from './choose-worker.ts'
import { parseRegistration } from './registration.ts'
import { answerRegistry } from './registry-routes.ts'
import { endLease, listLive, refuseTooMany, renewLease, requestDrain } from './worker-store.ts'
import { type ViewedWorker, WorkerView } from './worker-view.ts'

let database: Database

beforeAll(async () => {
  database = await openTestDatabase()
})

afterAll(() => database.close())
afterEach(() => database.query('delete from workers'))

const wire = { ...registrationFields('http://10.0.0.7:8095', Buffer.alloc(32, 1)), active: 1 }
const registration = (id: string, changes = {}) => parseRegistration(id, { ...wire, ...changes })

test('a registration over 256 KiB is refused before it is parsed', async () => {
  const put = (length: number) => {
    const body = JSON.stringify(wire).padEnd(length)
    const request = new Request('http://gateway', { method: 'PUT', body })
    const view = { find: () => undefined, refresh: async () => {} } as unknown as WorkerView
    return answerRegistry(request, 'w_long', { database, view, leaseSeconds: 9, lingerSeconds: 0 })
  }
  expect((await put(256 * 1024)).status).toBe(200)
  expect(await rejection(put(256 * 1024 + 1))).toMatchObject({ code: 'request_too_large' })
})

test('an invalid registration is refused', () => {
  for (const body of [null, 'text', undefined]) {
    expect(() => parseRegistration('w_one', body)).toThrow(
      expect.objectContaining({ code: 'invalid_value', param: 'body' }),
    )
  }
  const bad = [
    { url: 'ftp://10.0.0.7' },
    { url: 'http://10.0.0.7/path' },
    { url: 'http://user:secret@10.0.0.7' },
    { url: 'http://10.0.0.7/?x' },
    { url: 7 },
    { models: 'test-model' },
    { models: [{ id: 'x' }] },
    { models: Array(65).fill(wire.models[0]) },
    { seal_key_id: 'XYZ' },
    { receipt_key: 'short' },
    { relay_key: 'short' },
    { capacity: -1 },
    { active: 0.5 },
  ]
  const refused = expect.objectContaining({ code: 'invalid_value' })
  for (const changes of bad) expect(() => registration('w_one', changes)).toThrow(refused)
  for (const id of ['', 'a/b', 'a b', 'ü', 'x'.repeat(81)]) {
    expect(() => registration(id)).toThrow(refused)
  }
  expect(registration('w_one').url).toBe('http://10.0.0.7:8095')
})

test('a worker that predates admissions is refused: its requests could not be billed', () => {
  const { relay_key: _, ...older } = wire
  expect(() => parseRegistration('w_old', older)).toThrow('older than the gateway')
})

test('receipt keys and dead workers do not pile up, whatever is registered', async () => {
  const key = (n: number) => Buffer.alloc(32, n).toString('base64')
  for (let n = 1; n <= 20; n++) {
    await renewLease(database, registration('w_many', { receipt_key: key(n) }), 600)
  }
  const keysOf = (id: string) =>
    database.query('select 1 from worker_receipt_keys where worker_id = $1', [id])
  expect(await keysOf('w_many')).toHaveLength(16)
  await renewLease(database, registration('w_gone'), -2 * 86_400)
  await database.query(
    `update worker_receipt_keys set first_seen_at = now() - interval '31 days' where worker_id = 'w_gone'`,
  )
  await renewLease(database, registration('w_many', { receipt_key: key(21) }), 600)
  expect(await keysOf('w_gone')).toEqual([])
  expect(await database.query(`select 1 from workers where id = 'w_gone'`)).toEqual([])
  expect(await keysOf('w_many')).toHaveLength(16)
})

test('at most as many workers are listed as clients read', async () => {
  await renewLease(database, registration('w_one'), 600)
  await database.query(
    `insert into workers (id, url, models, seal_key_id, receipt_key, capacity, active, draining, lease_until)
     select 'w_' || n, url, models, seal_key_id, receipt_key, capacity, active, draining, lease_until
     from workers, generate_series(1, 4095) as n`,
  )
  const refused = await refuseTooMany(database, 'w_more').catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: 'overloaded' })
  await refuseTooMany(database, 'w_one')
})

test('a lease ends unless it is renewed', async () => {
  await renewLease(database, registration('w_one'), 600)
  await renewLease(database, registration('w_two'), -1)
  expect((await listLive(database)).map(({ id }) => id)).toEqual(['w_one'])
  await renewLease(database, registration('w_two', { active: 3 }), 600)
  expect(await listLive(database)).toMatchObject([{ id: 'w_one' }, { id: 'w_two', active: 3 }])
  await endLease(database, 'w_one')
  expect((await listLive(database)).map(({ id }) => id)).toEqual(['w_two'])
})

test("an operator's drain lasts while the worker lives and ends when it comes back", async () => {
  expect(await renewLease(database, registration('w_one'), 600)).toBe(false)
  expect(await requestDrain(database, 'w_one', true)).toBe(true)
  expect(await renewLease(database, registration('w_one'), 600)).toBe(true)
  expect(await listLive(database)).toMatchObject([{ draining: true }])
  await renewLease(database, registration('w_one'), -1)
  expect(await renewLease(database, registration('w_one'), 600)).toBe(false)
  expect(await requestDrain(database, 'w_none', true)).toBe(false)
})

test('a view follows the database and keeps its own counts of requests in progress', async () => {
  const view = new WorkerView({
    database,
    clock: () => 0,
    refreshMs: 600_000,
    suspectMs: 1,
    lost: {
      find: () => undefined,
      entries: () => [],
      follow: () => undefined,
      close: async () => {},
    },
    onFailure: () => undefined,
  })
  await renewLease(database, registration('w_one'), 600)
  await view.start()
  const entry = view.find('w_one')!
  entry.shares.take('key_one', 4, 75)
  await renewLease(database, registration('w_one', { active: 2 }), 600)
  await view.refresh()
  expect(view.find('w_one')).toMatchObject({ shares: { total: 1 }, inFlightAtReport: 1 })
  expect(loadOf(view.find('w_one')!)).toBe(0.5)
  entry.shares.putBack('key_one')
  expect(loadOf(view.find('w_one')!)).toBe(0.25)
  await endLease(database, 'w_one')
  await view.refresh()
  expect(view.list()).toEqual([])
  await view.close()
})

const viewed = (id: string, active: number, changes: Partial<ViewedWorker['worker']> = {}) =>
  ({
    worker: { ...registration(id, { active }), ...changes },
    inFlightAtReport: 0,
    shares: new FairShare(),
    attestations: new FairShare(),
    suspectUntilMs: 0,
  }) as ViewedWorker
const order = (candidates: ViewedWorker[], random = 0) =>
  orderCandidates(candidates, 1000, () => random).map((entry) => entry.worker.id)

test("the client's first choice is taken unless another is clearly less loaded", () => {
  const of = (id: string, active: number) => viewed(id, active, { capacity: 20 })
  expect(order([of('w_a', 1), of('w_b', 1)])).toEqual(['w_a', 'w_b'])
  expect(order([of('w_a', 2), of('w_b', 1)])).toEqual(['w_a', 'w_b'])
  expect(order([of('w_a', 4), of('w_b', 1)])).toEqual(['w_b', 'w_a'])
})

test('the second choice is drawn at random', () => {
  const candidates = [viewed('w_a', 4), viewed('w_b', 0), viewed('w_c', 0)]
  expect(order(candidates, 0)[0]).toBe('w_b')
  expect(order(candidates, 0.99)[0]).toBe('w_c')
})

test('draining workers are left out, and suspects come last', () => {
  const suspect = { ...viewed('w_a', 0), suspectUntilMs: 2000 }
  const drained = viewed('w_b', 0, { draining: true })
  expect(order([suspect, drained, viewed('w_c', 4)])).toEqual(['w_c', 'w_a'])
})
