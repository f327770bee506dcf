/** When the requests of an unlisted worker are aborted, and above all when not. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { emptyRange, type UpstreamConnection, UpstreamPool } from '@privatemode/http'
import { FairShare } from '@privatemode/service'
import type { Database } from '../state/database.ts'
import { registrationFields } from '../testing/scripted-worker.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import { LostWorkers } from './lost-workers.ts'
import { parseRegistration } from './registration.ts'
import { endLease, listLive, renewLease } from './worker-store.ts'
import type { ViewedWorker } from './worker-view.ts'

/** A live worker has to answer within this time, even on a busy machine. */
const graceMs = 1500
let database: Database
let pool: UpstreamPool
let answersHealth: boolean
let nowMs: number
let givenUp: string[]
let lost: LostWorkers
const open: UpstreamConnection[] = []

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  fetch: ({ url }) =>
    answersHealth && url.endsWith('/health') ? new Response('ok') : new Promise(() => undefined),
})
const url = `http://127.0.0.1:${server.port}`

beforeAll(async () => {
  database = await openTestDatabase()
  pool = new UpstreamPool({
    clock: () => performance.now(),
    limits: { connectTimeoutMs: 10_000, idle: 4, idleMs: 60_000, silentMs: 60_000 },
    caPem: undefined,
  })
})
afterAll(async () => {
  pool.close()
  await server.stop(true)
  await database.close()
})
afterEach(async () => {
  for (const connection of open.splice(0)) connection.abandon()
  await database.query('delete from workers')
})

/** A worker that holds one request of ours, and what happens to that request. */
async function holdOne(): Promise<{ entry: ViewedWorker; failed: () => string | undefined }> {
  answersHealth = false
  nowMs = 0
  givenUp = []
  lost = new LostWorkers({
    database,
    pool,
    graceMs,
    clock: () => nowMs,
    onGivenUp: ({ worker }, requests) => givenUp.push(`${worker.id}: ${requests}`),
  })
  await renewLease(database, registration, 600)
  const [worker] = await listLive(database)
  const shares = new FairShare()
  shares.take('key_one', 4, 75)
  const attestations = new FairShare()
  const entry = { worker: worker!, shares, attestations, inFlightAtReport: 0, suspectUntilMs: 0 }
  return { entry, failed: await ask() }
}

/** A request that the worker never answers. */
async function ask(): Promise<() => string | undefined> {
  const connection = await pool.connect(url)
  open.push(connection)
  const head = 'POST / HTTP/1.1\r\nhost: w\r\ncontent-length: 0\r\n\r\n'
  let failure: string | undefined
  const sink = {
    head: () => undefined,
    data: () => undefined,
    fail(why: string) {
      failure = why
    },
  }
  connection.send({ head, body: emptyRange, lengthBytes: 0 }, sink, Infinity)
  return () => failure
}

const registration = parseRegistration('w_one', registrationFields(url))
const letLapse = () => renewLease(database, registration, -1)

/**
 * The pool counts silence in ticks of 100 ms, and a busy machine merges some: this many have
 * certainly passed.
 */
async function passTicks(): Promise<void> {
  for (let ms = 0; ms < graceMs + 300; ms += 100) await Bun.sleep(100)
}

/** Two views of the list with the grace period in between; the request has been silent for as long. */
async function passGrace(entry: ViewedWorker): Promise<void> {
  lost.follow([entry])
  await passTicks()
  nowMs += graceMs
  lost.follow([entry])
  await lost.close()
}

test('a worker with an expired lease that does not answer loses its requests', async () => {
  const { entry, failed } = await holdOne()
  await letLapse()
  await passGrace(entry)
  expect(failed()).toBe('broken')
  expect(givenUp).toEqual(['w_one: 1'])
})

test('a worker that only lost the registry keeps its requests, as it still answers', async () => {
  const { entry, failed } = await holdOne()
  await letLapse()
  answersHealth = true
  await passGrace(entry)
  expect(failed()).toBeUndefined()
})

test('a worker that deregistered keeps its requests: it finishes answers and accepts no connections', async () => {
  const { entry, failed } = await holdOne()
  await endLease(database, 'w_one')
  await passGrace(entry)
  expect(failed()).toBeUndefined()
})

test('nothing is aborted before the grace period has passed', async () => {
  const { entry, failed } = await holdOne()
  await letLapse()
  lost.follow([entry])
  await passTicks()
  nowMs += graceMs - 1
  lost.follow([entry])
  await lost.close()
  expect(failed()).toBeUndefined()
})

test('a request younger than the grace period is not aborted with the others', async () => {
  const { entry, failed } = await holdOne()
  await letLapse()
  lost.follow([entry])
  await passTicks()
  nowMs += graceMs
  lost.follow([entry])
  // Another one begins while the worker is being checked.
  await Bun.sleep(graceMs / 2)
  const youngFailed = await ask()
  await lost.close()
  expect(failed()).toBe('broken')
  expect(youngFailed()).toBeUndefined()
  expect(givenUp).toHaveLength(1)
})

test('a worker listed again while it is being checked keeps its requests and its entry', async () => {
  const { entry, failed } = await holdOne()
  await letLapse()
  lost.follow([entry])
  expect(lost.find('w_one')).toBe(entry)
  await passTicks()
  nowMs += graceMs
  lost.follow([entry])
  lost.follow([])
  await lost.close()
  expect(failed()).toBeUndefined()
  expect(lost.entries()).toEqual([])
})

test('a worker without requests of ours is not watched', async () => {
  const { entry } = await holdOne()
  entry.shares.putBack('key_one')
  lost.follow([entry])
  expect(lost.entries()).toEqual([])
})
