/** One key cannot use up a worker or a gateway: it gets 429, and others get their answers. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { type ScriptedWorker, scriptedWorker, sealedHeaders } from '../testing/scripted-worker.ts'
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts'

let gateway: TestGateway
let workers: ScriptedWorker[]
let greedy: string
let other: string
/** Keeps references: unreferenced streams would be garbage collected and thus ended. */
const open = new Map<AbortController, Response>()

beforeAll(async () => {
  gateway = await startTestGateway({
    args: ['--maxRequests', '10', '--leaseSeconds', '600', '--metrics'],
  })
  workers = ['w_one', 'w_two', 'w_busy', 'w_large'].map((id) => scriptedWorker(id))
  const changes = { w_busy: { capacity: 5, active: 3 }, w_large: { capacity: 1000 } }
  for (const worker of workers) {
    worker.answer = () => new Response(endless(), { headers: sealedHeaders })
    await gateway.register(worker, changes[worker.id as keyof typeof changes] ?? { capacity: 5 })
  }
  greedy = (await gateway.createKey('greedy')).secret
  other = (await gateway.createKey('other')).secret
})

afterEach(async () => {
  endAll()
  await untilNothingHeld()
})

afterAll(async () => {
  await gateway.stop()
  for (const worker of workers) await worker.stop()
})

const endless = () =>
  new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('begun'))
    },
  })

function endAll(): void {
  for (const stream of open.keys()) stream.abort()
  open.clear()
}

/** Leaves the stream open if there is one. */
async function begin(secret: string, ...ids: string[]): Promise<Response> {
  const stream = new AbortController()
  const response = await gateway.seal(secret, ids, { signal: stream.signal })
  open.set(stream, response)
  return response
}

async function statuses(count: number, secret: string, ...ids: string[]): Promise<number[]> {
  const seen: number[] = []
  while (seen.length < count) seen.push((await begin(secret, ...ids)).status)
  return seen
}

async function untilNothingHeld(): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    const text = await (await fetch(`${gateway.gateway.url}/metrics`)).text()
    if (/^privatemode_gateway_running 1$/m.test(text)) return // the metrics request itself
    await Bun.sleep(10)
  }
  throw new Error('streams were not given back')
}

test('a key that used up its share of a worker gets 429 with a retry time, and others are served there', async () => {
  expect(await statuses(4, greedy, 'w_one')).toEqual([200, 200, 200, 200])
  const refused = await begin(greedy, 'w_one')
  expect(refused.status).toBe(429)
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(await refused.json()).toMatchObject({
    error: { code: 'rate_limit_exceeded', retryable: true },
  })
  expect((await begin(other, 'w_one')).status).toBe(200)
})

test('a worker whose share a key has used up is skipped for one with capacity', async () => {
  expect(await statuses(4, greedy, 'w_one')).toEqual([200, 200, 200, 200])
  const before = workers[1]?.seen.length
  expect((await begin(greedy, 'w_one', 'w_two')).status).toBe(200)
  expect(workers[1]?.seen.length).toBe((before ?? 0) + 1)
})

test("a worker's load from other gateways counts, too", async () => {
  expect(await statuses(3, greedy, 'w_busy')).toEqual([200, 200, 429])
})

test('a key that used up its share of the gateway gets 429, and others are served', async () => {
  expect(await statuses(8, greedy, 'w_large')).toEqual(Array.from({ length: 8 }, () => 200))
  expect((await begin(greedy, 'w_large')).status).toBe(429)
  expect((await begin(other, 'w_large')).status).toBe(200)
})

test('a request that ends, fails or is refused frees its slot', async () => {
  const [one] = workers as [ScriptedWorker]
  const usual = one.answer
  for (const answer of [
    () => new Response('done', { headers: sealedHeaders }),
    () => Response.json({ error: { message: 'full', code: 'overloaded' } }, { status: 503 }),
    () => Response.json({ error: { message: 'no', code: 'malformed' } }, { status: 400 }),
  ]) {
    one.answer = answer
    for (let count = 0; count < 10; count++) await (await begin(greedy, 'w_one')).text()
  }
  expect((await gateway.seal(greedy, ['w_none'])).status).toBe(404)
  one.answer = usual
  expect(await statuses(4, greedy, 'w_one')).toEqual([200, 200, 200, 200])
})
