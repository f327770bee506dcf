/** Two gateways and three workers on a real PostgreSQL, and what remains true when one is killed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Database, Row } from './state/database.ts'
import { openDatabase } from './state/open-database.ts'
import {
  findPostgres,
  freePort,
  type PostgresServer,
  startPostgres,
} from './testing/postgres-server.ts'
import { newId, operatorToken } from './testing/test-gateway.ts'
import { tokensOf } from './testing/worker-process.ts'

const possible = findPostgres() !== undefined
if (!possible) console.warn('skipped: tests on PostgreSQL need initdb and postgres on this machine')

type Child = { kill(): Promise<void>; restart(): Promise<void> }

let postgres: PostgresServer
let database: Database
let urls: string[]
let gateways: Child[]
let workers: Child[]
let key: { id: string; secret: string }
const workerIds = ['w_one', 'w_two', 'w_three']

beforeAll(async () => {
  if (!possible) return
  postgres = await startPostgres()
  const ports = [await freePort(), await freePort()]
  urls = ports.map((port) => `http://127.0.0.1:${port}`)
  gateways = ports.map((port) => startChild('main.ts', gatewayArgs(port), {}))
  await Promise.all(urls.map(untilHealthy))
  workers = workerIds.map((id, index) =>
    startChild('testing/worker-process.ts', [], {
      WORKER_ID: id,
      GATEWAYS: (index === 0 ? urls : urls.toReversed()).join(','),
    }),
  )
  database = await openDatabase({ kind: 'server', url: postgres.url, connections: 2 })
  key = await createKey({})
  await Promise.all(urls.map((url) => untilWorkers(url, 3)))
})

afterAll(async () => {
  if (!possible) return
  await database.close()
  await Promise.all([...gateways, ...workers].map((child) => child.kill()))
  await postgres.stop()
})

test.skipIf(!possible)(
  'kill -9 of a gateway, a worker or the database under load loses no row and doubles none',
  async () => {
    const load = startLoad()
    await Bun.sleep(700)
    await gateways[0]!.kill()
    await Bun.sleep(300)
    await gateways[0]!.restart()
    await untilHealthy(urls[0]!)
    await Bun.sleep(500)
    await workers[1]!.kill()
    await Bun.sleep(700)
    await postgres.kill()
    await postgres.start()
    await Bun.sleep(1500)
    await load.until(101)
    const answered = await load.stop()
    expect(answered.wrong).toEqual([])
    expect(answered.complete.length).toBeGreaterThan(100)

    const rows = await untilBooked(answered.complete)
    // Every answer that a client has whole is booked once, at the worker's word or as lost with it.
    for (const requestId of answered.complete) {
      const row = rows.get(requestId)
      expect(row).toBeDefined()
      if (row?.outcome === 'lost') expect(row.worker_id).toBe('w_two')
      else expect(row).toMatchObject({ outcome: 'complete', prompt_tokens: tokensOf(requestId) })
    }
    expect(rows.size).toBeLessThanOrEqual(answered.sent)
    const [sums] = await database.query(
      `select (select sum(requests) from usage_hourly) as hourly, (select count(*) from usage) as rows,
       (select sum(prompt_tokens + completion_tokens) from usage_hourly) as hourly_tokens,
       (select sum(prompt_tokens + completion_tokens) from usage) as tokens,
       (select tokens from usage_monthly where subject = 'acct_default') as monthly_tokens`,
    )
    expect(sums?.hourly).toBe(sums?.rows)
    expect(sums?.hourly_tokens).toBe(sums?.tokens)
    expect(sums?.monthly_tokens).toBe(sums?.tokens)
  },
  120_000,
)

test.skipIf(!possible)('a limit per minute holds across gateways within two percent', async () => {
  const limited = await createKey({ limits: { requests_per_minute: 600 } })
  let admitted = 0
  const startMs = performance.now()
  let lastMs = startMs
  // For four seconds at least, and until nobody is admitted any more; within the minute of the limit.
  const goesOn = () => {
    const [sinceMs, quietMs] = [performance.now() - startMs, performance.now() - lastMs]
    return sinceMs < 4_000 || (quietMs < 2_000 && sinceMs < 40_000)
  }
  const client = async (url: string) => {
    while (goesOn() && admitted <= 700) {
      const response = await seal(url, limited.secret, newId())
      await response.arrayBuffer()
      if (response.status !== 200) await Bun.sleep(20)
      else {
        admitted++
        lastMs = performance.now()
      }
    }
  }
  await Promise.all(Array.from({ length: 24 }, (_, index) => client(urls[index % 2]!)))
  expect(admitted).toBeGreaterThanOrEqual(588)
  expect(admitted).toBeLessThanOrEqual(612)
})

test.skipIf(!possible)(
  'a key that is revoked at one gateway is refused at both within two seconds',
  async () => {
    const revoked = await createKey({})
    const status = async (url: string) => {
      const headers = { authorization: `Bearer ${revoked.secret}` }
      const response = await fetch(`${url}/privatemode/v1/directory`, { headers })
      await response.text()
      return response.status
    }
    for (const url of urls) expect(await status(url)).toBe(200)
    await operate('DELETE', `admin/keys/${revoked.id}`)
    const startMs = performance.now()
    let acceptedMs = 0
    for (const url of urls) {
      for (let sentMs = 0; ; await Bun.sleep(20)) {
        sentMs = performance.now() - startMs
        if ((await status(url)) !== 200) break
        acceptedMs = Math.max(acceptedMs, sentMs)
      }
    }
    // When the last request was sent that was still answered; how long answers take is another matter.
    expect(acceptedMs).toBeLessThan(2_000)
  },
)

test.skipIf(!possible)(
  'a worker that dies vanishes from every gateway within seconds',
  async () => {
    await workers[2]!.kill()
    const startMs = performance.now()
    await Promise.all(urls.map((url) => untilWorkers(url, 1)))
    expect(performance.now() - startMs).toBeLessThan(8_000)
  },
)

function gatewayArgs(port: number): string[] {
  return [
    ['--port', String(port)],
    ['--databaseUrl', postgres.url],
    ['--operatorToken', operatorToken],
    ['--leaseSeconds', '3'],
    ['--usageGraceMs', '1500'],
    ['--logLevel', 'error'],
  ].flat()
}

function startChild(script: string, args: string[], env: Record<string, string>): Child {
  const spawn = () =>
    Bun.spawn([process.execPath, `${import.meta.dir}/${script}`, ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, ...env },
    })
  let child = spawn()
  return {
    async kill() {
      child.kill('SIGKILL')
      await child.exited
    },
    async restart() {
      child = spawn()
    },
  }
}

async function operate(
  method: string,
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const response = await fetch(`${urls[1]}/privatemode/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${operatorToken}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return (await response.json()) as Record<string, unknown>
}

async function createKey(more: object): Promise<{ id: string; secret: string }> {
  return (await operate('POST', 'admin/keys', { name: 'test', ...more })) as never
}

function seal(url: string, secret: string, requestId: string): Promise<Response> {
  return fetch(`${url}/privatemode/v1/sealed`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/privatemode-sealed',
      'privatemode-request-id': requestId,
      'privatemode-model': 'test-model',
      'privatemode-path': '/v1/chat/completions',
      'privatemode-workers': workerIds.toSorted(() => Math.random() - 0.5).join(','),
    },
    body: 'sealed bytes',
  })
}

/** Clients that ask all the time; what they got whole, and what looked whole and was not. */
function startLoad() {
  let running = true
  const found = { complete: [] as string[], wrong: [] as string[], sent: 0 }
  const client = async (index: number) => {
    for (let turn = index; running; turn++) {
      const requestId = newId()
      found.sent++
      try {
        const response = await seal(urls[turn % 2]!, key.secret, requestId)
        const text = await response.text()
        if (response.status !== 200) await Bun.sleep(10)
        else if (text === `${requestId}:${'x'.repeat(500)}:end`) found.complete.push(requestId)
        else found.wrong.push(text)
      } catch {
        await Bun.sleep(10) // a connection that broke is no answer
      }
    }
  }
  const clients = Promise.all(Array.from({ length: 16 }, (_, index) => client(index)))
  return {
    async until(count: number) {
      for (const end = Date.now() + 30_000; found.complete.length < count && Date.now() < end; ) {
        await Bun.sleep(50)
      }
    },
    async stop() {
      running = false
      await clients
      return found
    },
  }
}

type Booked = Row & {
  request_id: string
  outcome: string
  worker_id: string
  prompt_tokens: number
}

async function untilBooked(requestIds: readonly string[]): Promise<Map<string, Booked>> {
  for (let tries = 0; ; tries++) {
    const rows = await database.query<Booked>(
      `select replace(request_id::text, '-', '') as request_id, outcome, worker_id, prompt_tokens
       from usage`,
    )
    const booked = new Map(rows.map((row) => [row.request_id, row]))
    const open = requestIds.filter((id) => {
      const row = booked.get(id)
      return row === undefined || (row.outcome === 'lost' && row.worker_id !== 'w_two')
    })
    if (open.length === 0 || tries > 300) return booked
    await Bun.sleep(100)
  }
}

async function untilHealthy(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/health`).catch(() => undefined)
    if (response?.ok) return
    await Bun.sleep(50)
  }
}

async function untilWorkers(url: string, count: number): Promise<void> {
  for (;;) {
    const headers = { authorization: `Bearer ${key.secret}` }
    const response = await fetch(`${url}/privatemode/v1/directory`, { headers })
    const { workers: found } = (await response.json()) as { workers?: unknown[] }
    if (found?.length === count) return
    await Bun.sleep(50)
  }
}
